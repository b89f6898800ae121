// The acceleration of each body by the gravity of all, softened so that near ones do not fly apart:
// a thread a body, all from global memory. A body is x, y, z and its mass. What the others are held
// against.
__global__ void nbody_plain(const float4* bodies, float* acceleration, int n, float softening) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = 0, y = 0, z = 0;
  for (int j = 0; j < n; ++j) {
    float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y,
          dz = bodies[j].z - bodies[i].z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    float factor = bodies[j].w * inverse * inverse * inverse;
    x += factor * dx;
    y += factor * dy;
    z += factor * dz;
  }
  acceleration[3 * i] = x;
  acceleration[3 * i + 1] = y;
  acceleration[3 * i + 2] = z;
}

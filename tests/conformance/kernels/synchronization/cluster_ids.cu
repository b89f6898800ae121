// class: cluster
// about: what a block knows of its cluster
// arch: sm_90
// grid: [4, 4]
// block: [32]
// cluster: [2, 2]
// args:
//   - out:u32[160]
extern "C" __global__ void cluster_ids(unsigned* out) {
  unsigned v[10];
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[0]));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[1]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[2]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[3]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[4]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[5]));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[6]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[7]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[8]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[9]));
  if (threadIdx.x == 0)
    for (int i = 0; i < 10; ++i) out[(blockIdx.y * gridDim.x + blockIdx.x) * 10 + i] = v[i];
}

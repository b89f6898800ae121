#!/usr/bin/env bash
# What exported modules do beside PyTorch, without a GPU: tests/engine/export says how. Where Python has
# no PyTorch, or there is no cuda.h for a libcuda of the tests, it ends with 77, which is 'skipped'.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
folder=$repository/tests/engine/export
status=0
python3 "$folder/torch_module_test.py" --probe >/dev/null 2>&1 || status=$?
[ "$status" != 77 ] || skip 'Python has no PyTorch'
[ -n "${FA_TUNE_CUDA_INCLUDE:-}" ] || skip 'there is no cuda.h'

cc -shared -fPIC -isystem "$FA_TUNE_CUDA_INCLUDE" "$folder/fake_cuda.c" -o fake.so
small_space window.yaml
sed '/^  window:/d' window.yaml >small.yaml  # which PyTorch's own attention does not have
sed -e 's/^space: .*/space: maps/' -e 's/Lq: 512, Lk: 512/Lq: 64, Lk: 64/' -e 's/H: 8/H: 2/' \
  -e '/^  fa2/d' "$repository/search_spaces/h100.yaml" >maps.yaml
one=(--warm off --budget 1 --seed 1 --db)
"$program" evolve --space small.yaml --device emulator:l4 "${one[@]}" pointers.db >log 2>&1
"$program" evolve --space small.yaml --device emulator:l4 --set layout=BSHD "${one[@]}" pointers.db >log 2>&1
"$program" evolve --space maps.yaml --device emulator:h100 "${one[@]}" maps.db >log 2>&1
"$program" evolve --space softmax.yaml --set sizes.rows=16 --set sizes.columns=64 --device emulator:h100 \
  "${one[@]}" custom.db >log 2>&1
# A dispatch of several kernels, at full and causal attention.
sed 's/^space: small/space: sized/' small.yaml >sized.yaml
for set in shape.L=64 shape.L=160 causal=true; do
  "$program" evolve --space sized.yaml --device emulator:l4 --set $set --warm off --no-finals --budget 4 --seed 1 \
    --db sized.db >log 2>&1
done
try "$program" portfolio --db sized.db --dispatch --within 0 --seed 1 --as torch --gate-on emulator:l4 --out sized.py
check 'a module with a dispatch is written' equal "$status" 0
"$program" evolve --space decode.yaml --device emulator:h100 --set shape.Lk=600 --set shape.H=4 --set shape.Hkv=2 \
  --no-finals --warm off --budget 2 --seed 1 --db steps.db >log 2>&1
"$program" export --trial 2 --db steps.db --as torch --any-size --gate-on emulator:h100 --out steps.py 2>log
check 'a module of two kernels is written' grep -q attention_decode_join steps.py
for name in pointers maps custom; do
  "$program" export --db $name.db --as torch --out $name.py 2>/dev/null
done
try python3 "$folder/torch_module_test.py" ./fake.so pointers.py maps.py custom.py sized.py steps.py
check 'modules hold beside PyTorch' equal "$status" 0
try "$program" export --db pointers.db --as header --out none.hpp
check 'a header tells pointers of two layouts apart' contains "$err" 'differ in layout'
finish

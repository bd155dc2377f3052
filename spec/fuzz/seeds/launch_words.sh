A="--num-layers 4 \
 --seq-length ${S:-$((2*(8+1)))}"; B=(--bf16 "--layout x")
case $1 in a) C="--fp16";; esac
if [ -z "$D" ] && [[ 1 -lt 2 || a != b ]]; then A+=" --tensor-model-parallel-size 2"; fi
cat <<-EOT > x
 text
	EOT
for i in 1 2; do echo "--fp16"; done
torchrun --nproc_per_node=8 a.py $A "${B[@]}" `date` $(ls | wc -l) 2>&1 | tee log

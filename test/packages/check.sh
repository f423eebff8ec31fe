#!/usr/bin/env bash
# Installs a package of shardc on a bare Debian 12 in a folder, and there compiles a model for two ranks and trains it. Must be root.
set -euo pipefail
(($# == 2)) || { echo "usage: test/packages/check.sh PACKAGE.deb|PACKAGE.tar.zst CHROOT" >&2; exit 2; }
package=$(readlink -f "$1") chroot=$2
models=$(readlink -f "$(dirname "$0")/../models")
mirror=http://deb.debian.org

in_chroot() {
  echo "# $*"
  chroot "$chroot" /usr/bin/env -i PATH="$path" HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
path=/usr/sbin:/usr/bin:/sbin:/bin

# A folder that is not there, or empty, becomes a Debian with its required packages alone.
if [[ -z $(ls -A "$chroot" 2>/dev/null) ]]; then
  debootstrap --variant=minbase bookworm "$chroot" $mirror/debian >/dev/null
fi
no_compiler() {
  local tool
  for tool in gcc g++ cc c++ clang clang-22 ld ld.lld-22 as python3 make; do
    if chroot "$chroot" /bin/sh -c "command -v $tool" >/dev/null; then
      echo "error: $chroot has $tool" >&2
      exit 1
    fi
  done
}
no_compiler
mount -t proc proc "$chroot/proc"
trap 'umount "$chroot/proc"' EXIT

case $package in
*.deb)
  printf 'deb %s/debian bookworm main\ndeb %s/debian-security bookworm-security main\n' $mirror $mirror >"$chroot/etc/apt/sources.list"
  cp "$package" "$chroot/root/shardc.deb"
  in_chroot apt-get update -qq
  in_chroot apt-get install -y -qq --no-install-recommends /root/shardc.deb >"$chroot/root/install.log" 2>&1 || { cat "$chroot/root/install.log"; exit 1; }
  in_chroot dpkg-query -W -f='${Package} ${Version} needs ${Depends}\n' shardc
  ;;
*.tar.zst)
  mkdir -p "$chroot/opt/some where"
  tar --zstd -xf "$package" -C "$chroot/opt/some where"
  path="/opt/some where/$(ls "$chroot/opt/some where")/bin:$path"
  ;;
*) echo "error: $package is neither a .deb nor a .tar.zst" >&2; exit 2 ;;
esac
no_compiler

model=s2-llama-tiny-causal
options=(--dim batch=2 --dim sequence=64 --loss cross-entropy:logits=logits,labels=labels,shift=1)
mkdir -p "$chroot/root/$model"
cp -rL "$models/$model/model.onnx" "$models/$model/data" "$chroot/root/$model"
in_chroot shardc --version
in_chroot shardc "/root/$model/model.onnx" --mesh 2 "${options[@]}" -o /root/model.trainer --dump-phases-to /root/phases
in_chroot ldd /root/model.trainer
printf 'data: {input_ids: /root/%s/data/input_ids.npy, labels: /root/%s/data/labels.npy}\nsteps: 5\nlr: 1e-3\ncheckpoint-dir: /root/run\nresume: none\n' \
  $model $model >"$chroot/root/run.yaml"
in_chroot shardc-check --stamp /root/model.trainer "/root/$model/model.onnx"
in_chroot /root/model.trainer --config /root/run.yaml
in_chroot shardc-ckpt verify /root/run
in_chroot shardc-ckpt export /root/run --to hf -o /root/exported
in_chroot shardc-data inspect "/root/$model/data/input_ids.npy"
cp "$(dirname "$0")/../tools/sentencepiece/unigram.model" "$chroot/root"
in_chroot shardc-data tokenize --sentencepiece /root/unigram.model /root/run.yaml -o /root/tokens.bin
in_chroot shardc-opt /root/phases/2-raise.mlir --nn-differentiate -o /root/train.mlir
message() { printf 'Content-Length: %d\r\n\r\n%s' ${#1} "$1"; }
{
  message '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}'
  message '{"jsonrpc":"2.0","id":1,"method":"shutdown"}'
  message '{"jsonrpc":"2.0","method":"exit"}'
} >"$chroot/root/requests"
in_chroot sh -c "shardc-lsp-server </root/requests 2>/dev/null" >"$chroot/root/replies"
grep -ao '"hoverProvider":true' "$chroot/root/replies"
no_compiler
echo "$(basename "$package"): passed"

# What the examples share; each has said `name=default` for all that can be chosen. Arguments
# NAME=VALUE in front replace these; what follows is for the trainer, and stays in "$@".

settings=${settings//$'\n'/ }
while [[ ${1-} == [a-z]*=* ]]; do
  name=${1%%=*}
  if [[ " $settings " != *" $name "* ]]; then
    echo "${0##*/}: error: there is no setting '$name'; there are $settings" >&2
    exit 2
  fi
  printf -v "$name" %s "${1#*=}"
  shift
done
mkdir -p "$out"

# Whether the trainer's flags are such that it trains nothing, and nothing comes of it.
is_dry_run() { [[ " $* " == *" --dry-run "* ]]; }

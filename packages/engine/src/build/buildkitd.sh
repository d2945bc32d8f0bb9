# Runs buildkitd: CONFIG STATE. A container that is not wholly privileged sees the control groups read-only, and runc has to make some.
while read -r _ path _ options _; do
  case $path in /sys/fs/cgroup*) ;; *) continue ;; esac
  case ,$options, in *,ro,*) mount -o remount,bind,rw "$path" ;; esac
done </proc/mounts
# cgroup v2: a group that holds processes cannot hand controllers to its children.
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p /sys/fs/cgroup/init
  while read -r pid; do echo "$pid" >/sys/fs/cgroup/init/cgroup.procs 2>/dev/null; done </sys/fs/cgroup/cgroup.procs
fi
# Since Linux 6.7 the kernel forgets emulators with the last mount of binfmt_misc: this one holds them as long as the builder lives.
mkdir -p /run/binfmt
mount -t binfmt_misc binfmt_misc /run/binfmt 2>/dev/null
exec buildkitd --config "$1" --root "$2"

# Runs buildkitd: CONFIG STATE. A container that is not fully privileged mounts cgroups read-only, but runc must create some.
while read -r _ path _ options _; do
  case $path in /sys/fs/cgroup*) ;; *) continue ;; esac
  case ,$options, in *,ro,*) mount -o remount,bind,rw "$path" ;; esac
done </proc/mounts
# cgroup v2: a group with processes cannot delegate controllers to its children.
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p /sys/fs/cgroup/init
  while read -r pid; do echo "$pid" >/sys/fs/cgroup/init/cgroup.procs 2>/dev/null; done </sys/fs/cgroup/cgroup.procs
fi
# Since Linux 6.7 the kernel drops emulators with the last mount of binfmt_misc. This mount keeps them while the builder runs.
mkdir -p /run/binfmt
mount -t binfmt_misc binfmt_misc /run/binfmt 2>/dev/null
exec buildkitd --config "$1" --root "$2"

/** Kinds that a monitor may report. `HelmRelease` is made from the labels of Helm's Secrets, whose content it does not read. */
export const MONITORED_KINDS = [
  'Namespace',
  'Node',
  'Pod',
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'Job',
  'CronJob',
  'Service',
  'Ingress',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'HelmRelease',
] as const

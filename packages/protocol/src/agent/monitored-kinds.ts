/** Kinds that a monitor may report. `HelmRelease` comes from the labels of Helm Secrets; their content is not read. */
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

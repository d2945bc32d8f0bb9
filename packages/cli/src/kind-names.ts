/** Kinds of resources, as `get` names them. */
export const KIND_NAMES = [
  'pipelines',
  'builds',
  'triggers',
  'cron-triggers',
  'event-triggers',
  'webhooks',
  'deliveries',
  'messages',
  'notifications',
  'runtimes',
  'disks',
  'agents',
  'projects',
  'contexts',
  'keys',
  'users',
  'teams',
  'sessions',
  'links',
  'step-types',
] as const
export type KindName = (typeof KIND_NAMES)[number]

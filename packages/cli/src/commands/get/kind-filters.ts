/** Which kinds of resources each filter of `get` applies to. */
import { fault } from '@windlass/kit/faults'
import type { KindName } from '../../kind-names.ts'

const TRIGGER_KINDS: readonly KindName[] = ['triggers', 'cron-triggers', 'event-triggers']

/** Filter, which is also the name of its flag -> kinds. */
const KINDS = {
  pipeline: ['builds', 'deliveries', 'disks', ...TRIGGER_KINDS],
  status: ['builds', 'gitlab-jobs', 'disks', 'deliveries', 'messages', 'applications', 'rollouts', 'workflows', 'releases'],
  branch: ['builds', 'deliveries'],
  annotation: ['builds'],
  project: ['builds', 'pipelines', 'gitlab-jobs', 'applications'],
  initiator: ['builds'],
  trigger: ['builds'],
  runtime: ['builds', 'disks', 'applications', 'rollouts', 'workflows'],
  reason: ['builds'],
  revision: ['builds'],
  number: ['builds'],
  query: ['builds', 'pipelines', 'applications', 'rollouts', 'workflows'],
  since: ['builds'],
  until: ['builds'],
  view: ['builds'],
  runner: ['gitlab-jobs'],
  webhook: ['deliveries'],
  repo: ['deliveries'],
  sync: ['applications'],
  product: ['releases'],
} as const satisfies Record<string, readonly KindName[]>

type FilterName = keyof typeof KINDS

export type GivenFilters = { readonly [Name in FilterName]?: string | readonly string[] | undefined }

/** Throws `usage` if a given filter does not apply to the kind. A list without it would look like a filtered one. */
export function requireFilters(kind: KindName, given: GivenFilters): void {
  const names = Object.keys(KINDS) as FilterName[]
  const wrong = names.filter((name) => isGiven(given[name]) && !kindsOf(name).includes(kind))
  if (wrong.length === 0) return
  throw fault('usage', {
    message: wrong.map((name) => `--${name} does not apply to ${kind}.`).join(' '),
    hint: wrong.map((name) => `--${name} applies to ${kindsOf(name).join(', ')}.`).join(' '),
  })
}

function kindsOf(name: FilterName): readonly KindName[] {
  return KINDS[name]
}

function isGiven(value: string | readonly string[] | undefined): boolean {
  return value !== undefined && value.length > 0
}

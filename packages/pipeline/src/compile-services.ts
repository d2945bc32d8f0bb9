/** `services` of the document and of steps (pipeline language 3.10). */
import { nearMiss } from '@windlass/plan'
import type { JsonTemplate, PlanStep, Readiness, ServiceSet } from '@windlass/plan'
import { toCompose } from './actions/composition.ts'
import { STEP_SERVICES } from './control-fields.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Draft, Drafting } from './step-draft.ts'
import type { ActionPlace } from './step-type.ts'
import type { TreeNode } from './tree.ts'
import { textOf } from './tree.ts'
import { typeFields } from './type-fields.ts'

/** A checked `services` object as the plan has it. */
export function toServiceSet(entries: Entries, place: ActionPlace): ServiceSet {
  const readiness = read.map(entries, 'readiness')?.entries
  const setup = read.map(entries, 'setup')?.entries
  return {
    ...read.when('name', read.text(entries, 'name')),
    compose: toComposition(entries, place),
    variables: read.environment(entries, 'composition_variables'),
    sharedHostNetwork: read.flag(entries, 'shared_host_network') ?? false,
    ...read.when('readiness', readiness === undefined ? undefined : toReadiness(readiness)),
    ...read.when(
      'setup',
      setup === undefined ? undefined : { image: read.text(setup, 'image') ?? '', commands: read.texts(setup, 'commands') ?? [] },
    ),
  }
}

function toReadiness(entries: Entries): Readiness {
  const seconds = (key: string): number => (read.number(entries, key) ?? 10) * 1_000
  return {
    image: read.text(entries, 'image') ?? '',
    commands: read.texts(entries, 'commands') ?? [],
    periodMs: seconds('periodSeconds'),
    timeoutMs: seconds('timeoutSeconds'),
    failureThreshold:
      (read.number(entries, 'failureThreshold') ?? 3) +
      Math.ceil((read.number(entries, 'initialDelaySeconds') ?? 0) / (read.number(entries, 'periodSeconds') ?? 10)),
  }
}

/** The mapping is one of services; a whole compose document, with `services` inside it, is taken as it is. */
function toComposition(entries: Entries, place: ActionPlace): ServiceSet['compose'] {
  const source = toCompose(entries, place)
  if ('path' in source || isComposeDocument(source.inline)) return source
  return { inline: { services: source.inline } }
}

function isComposeDocument(value: JsonTemplate): boolean {
  if (value === null || typeof value !== 'object' || !('services' in value)) return false
  const { services } = value
  return services !== null && typeof services === 'object' && !('image' in services)
}

/** `services` of a step: its own, or the names of root services. Some older types have a field of that name that means something else. */
export function toServices({ entries, known, report, path }: Draft, drafting: Drafting): PlanStep['services'] {
  if (typeFields(known).fields['services'] !== STEP_SERVICES) return undefined
  const written = read.node(entries, 'services')
  if (written?.kind === 'map') return toServiceSet(written.entries, drafting)
  if (written?.kind !== 'list') return undefined
  for (const item of written.items) checkServiceName(item, { report, path, drafting })
  return read.texts(entries, 'services')
}

function checkServiceName(
  item: TreeNode,
  { report, path, drafting }: Pick<Draft, 'report' | 'path'> & { drafting: Drafting },
): void {
  const name = textOf(item)
  if (name === undefined || name.includes('${{') || drafting.serviceNames.includes(name)) return
  const close = nearMiss(name.slice(0, 150), drafting.serviceNames)
  report.warning(
    'unknown-service',
    item.range,
    `there are no root services "${name}"${close === undefined ? '' : `. Did you mean "${close}"?`}`,
    {
      path: `${path}.services`,
      hint: 'Root services have their name in "services.name".',
      ...(close !== undefined && { suggestion: { from: name, to: close } }),
    },
  )
}

/** Compiles `services` of the document and of steps. */
import { nearMiss } from '@windlass/plan'
import type { JsonTemplate, PlanStep, Readiness, ServiceSet } from '@windlass/plan'
import { checkComposition } from '../actions/compose-document.ts'
import { toCompose } from '../actions/composition.ts'
import { STEP_SERVICES } from '../language/control-fields.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Draft } from '../draft/step-draft.ts'
import type { Spot } from '../language/step-rules.ts'
import type { ActionPlace } from '../language/step-type.ts'
import type { TreeNode } from '../syntax/tree.ts'
import { textOf } from '../syntax/tree.ts'
import { typeFields } from '../language/type-fields.ts'
import type { Drafting } from '../draft/drafting.ts'

/** Warns about the compose document of a `services` object. `path` is that of the object. */
export function checkServices(entries: Entries, spot: Spot): void {
  checkComposition({ written: read.node(entries, 'composition'), mayBeBare: true }, spot)
}

/** Compiles a checked `services` object. */
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

/** Accepts a mapping of services, or a whole compose document with `services` inside it. */
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

/** Returns the `services` of a step: its own, or names of root services. In some older types the field means something else. */
export function toServices({ entries, known, report, path }: Draft, drafting: Drafting): PlanStep['services'] {
  if (typeFields(known).fields['services'] !== STEP_SERVICES) return undefined
  const written = read.node(entries, 'services')
  if (written?.kind === 'map') {
    checkServices(written.entries, { report, path: `${path}.services` })
    return toServiceSet(written.entries, drafting)
  }
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
  const close = report.suggest(name, drafting.serviceNames, () => nearMiss(name, drafting.serviceNames))
  report.warning('unknown-service', item.range, `root services "${name}" do not exist${didYouMean(close)}`, {
    path: `${path}.services`,
    hint: 'Set the name of root services in "services.name".',
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}

/** Compositions, services and deployments with their variables filled in. */
import { VOLUME_PATH } from './builtin-variables.ts'
import { resolveDirectory } from './paths.ts'
import type {
  AnnotationChange,
  AnnotationEntry,
  ComposeSource,
  CompositionAction,
  DeployAction,
  JsonTemplate,
  LaunchCompositionAction,
  ServiceSet,
  Template,
} from './plan.ts'
import type { BuildScope } from './scope.ts'
import type { Notes, StepProblem } from './step-fields.ts'
import { StepFields } from './step-fields.ts'
import { exactReference } from './substitute.ts'
import type { Scope } from './substitute.ts'

/** A compose document as JSON, or the absolute path of one on the shared volume. */
export type ResolvedCompose = { readonly inline: JsonTemplate } | { readonly path: string }

/** Fills in every text of a JSON value; keys stay as they are. */
export function fillJson(field: string, value: JsonTemplate, fields: StepFields): JsonTemplate {
  if (typeof value === 'string') return fields.text(field, value)
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map((item, index) => fillJson(`${field}[${index}]`, item, fields))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillJson(`${field}.${key}`, item, fields)]))
}

function isList(value: JsonTemplate): value is readonly JsonTemplate[] {
  return Array.isArray(value)
}

/** Like `fillJson`, for a compose document: a `$` in a value is no variable of compose, and neither is a reference that nobody defined. */
function fillDocument(field: string, value: JsonTemplate, fields: StepFields): JsonTemplate {
  const { scope, notes } = fields
  const escaped = (inner: Scope): Scope => ({ lookup: (name) => inner.lookup(name)?.replaceAll(/\$(?!\{\{)/g, '$$$$') })
  const filled = fillJson(field, value, new StepFields({ ...scope, as: (purpose) => escaped(scope.as(purpose)) }, notes))
  return mapTexts(filled, (text) => text.replaceAll('${{', '$$${{'))
}

function mapTexts(value: JsonTemplate, change: (text: string) => string): JsonTemplate {
  if (typeof value === 'string') return change(value)
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map((item) => mapTexts(item, change))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

function fillCompose(field: string, source: ComposeSource, directory: string, fields: StepFields): ResolvedCompose {
  if ('inline' in source) return { inline: fillDocument(field, source.inline, fields) }
  const path = fields.needed(field, source.path)
  return { path: path.startsWith('/') ? path : `${directory}/${path.replace(/^\.\//, '')}` }
}

/** Where a compose file is looked for: the working directory, else the folder of `main_clone`, else the shared volume. */
function composeDirectory(template: Template | undefined, fields: StepFields): string {
  const text = template === undefined ? '' : fields.needed('working_directory', template, 'directory')
  return (resolveDirectory(fields.scope, text, 'main-clone') ?? fields.scope.lookup('CF_VOLUME_PATH') ?? VOLUME_PATH).replace(
    /\/$/,
    '',
  )
}

export interface ResolvedComposition {
  readonly kind: 'composition'
  readonly compose: ResolvedCompose
  readonly candidates: Readonly<Record<string, JsonTemplate>>
  readonly variables: readonly string[]
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly addVolume: boolean
}

export function fillComposition(action: CompositionAction, fields: StepFields): ResolvedComposition {
  const directory = composeDirectory(action.workingDirectory, fields)
  return {
    kind: 'composition',
    compose: fillCompose('composition', action.compose, directory, fields),
    candidates: Object.fromEntries(
      Object.entries(action.candidates).map(([name, value]) => [
        name,
        fillDocument(`composition_candidates.${name}`, value, fields),
      ]),
    ),
    variables: fields.list('composition_variables', action.variables),
    directory,
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    addVolume: fields.flag('add_flow_volume_to_composition', action.addVolume),
  }
}

export interface ResolvedLaunch {
  readonly kind: 'launch-composition'
  readonly compose: ResolvedCompose
  readonly variables: readonly string[]
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly environmentName: string
  readonly entryPoint?: string
}

export function fillLaunch(action: LaunchCompositionAction, fields: StepFields, step: string): ResolvedLaunch {
  const directory = composeDirectory(action.workingDirectory, fields)
  const usual = 'path' in action.compose ? fields.text('composition', action.compose.path) : step
  return {
    kind: 'launch-composition',
    compose: fillCompose('composition', action.compose, directory, fields),
    variables: fields.list('composition_variables', action.variables),
    directory,
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    environmentName: action.environmentName === undefined ? usual : fields.needed('environment_name', action.environmentName),
    ...fields.optional('entryPoint', 'entry_point', action.entryPoint),
  }
}

export interface ResolvedServices {
  readonly name?: string
  readonly compose: ResolvedCompose
  readonly variables: readonly string[]
  readonly sharedHostNetwork: boolean
  readonly readiness?: {
    readonly image: string
    readonly commands: readonly string[]
    readonly periodMs: number
    readonly timeoutMs: number
    readonly failureThreshold: number
  }
  readonly setup?: { readonly image: string; readonly commands: readonly string[] }
}

/** Services of a step or of the whole build, filled in when they are started. */
export function fillServices(services: ServiceSet, fields: StepFields): ResolvedServices {
  const { readiness, setup } = services
  return {
    ...(services.name !== undefined && { name: services.name }),
    compose: fillCompose('services.composition', services.compose, composeDirectory(undefined, fields), fields),
    variables: fields.list('services.composition_variables', services.variables),
    sharedHostNetwork: fields.flag('services.shared_host_network', services.sharedHostNetwork),
    ...(readiness !== undefined && {
      readiness: {
        ...readiness,
        image: fields.needed('services.readiness.image', readiness.image, 'image'),
        commands: fields.list('services.readiness.commands', readiness.commands),
      },
    }),
    ...(setup !== undefined && {
      setup: {
        image: fields.needed('services.setup.image', setup.image, 'image'),
        commands: fields.list('services.setup.commands', setup.commands),
      },
    }),
  }
}

/** The services of a step, a group or the build at the moment they start; absent when there is a problem. Never throws. */
export function resolveServices(
  services: ServiceSet,
  scope: BuildScope,
): { readonly services?: ResolvedServices; readonly problems: readonly StepProblem[] } {
  const notes: Notes = { problems: [], unresolved: new Set() }
  const filled = fillServices(services, new StepFields(scope, notes))
  return { ...(notes.problems.length === 0 && { services: filled }), problems: notes.problems }
}

export interface ResolvedDeploy {
  readonly kind: 'deploy'
  readonly cluster: string
  readonly namespace: string
  readonly target:
    | {
        readonly service: string
        /** `step`: the build or push step that made it, when `image` names one. */
        readonly candidate?: { readonly image: string; readonly registry: string; readonly step?: string }
      }
    | { readonly filePath: string }
  readonly rolloutTimeoutMs: number
}

export function fillDeploy(action: DeployAction, fields: StepFields): ResolvedDeploy {
  const { target } = action
  const seconds = Number(fields.text('timeout', action.rolloutTimeout))
  if (!(seconds > 0)) fields.problem('timeout', '"timeout" of a deploy step must be a number of seconds')
  return {
    kind: 'deploy',
    cluster: fields.needed('cluster', action.cluster),
    namespace: fields.needed('namespace', action.namespace),
    target:
      'filePath' in target
        ? { filePath: `${composeDirectory(undefined, fields)}/${fields.needed('file_path', target.filePath)}` }
        : {
            service: fields.needed('service', target.service),
            ...(target.candidate !== undefined && {
              candidate: {
                image: fields.needed('candidate.image', target.candidate.image, 'image'),
                ...candidateStep(target.candidate.image, fields),
                registry: fields.needed('candidate.registry', target.candidate.registry),
              },
            }),
          },
    rolloutTimeoutMs: seconds * 1_000,
  }
}

function candidateStep(image: Template, { scope }: StepFields): { readonly step?: string } {
  const name = exactReference(image)
    ?.trim()
    .replace(/^steps\./, '')
    .split('.')[0]
  return name !== undefined && scope.isStep(name) ? { step: name } : {}
}

/** An annotation with its references filled in; expressions keep theirs (they are operands there). */
export function fillAnnotations(set: readonly AnnotationChange[], fields: StepFields): AnnotationChange[] {
  return set.map((change, index) => ({
    ...change,
    ...fields.optional('id', `annotations.set[${index}].entity_id`, change.id),
    entries: fillEntries(change.entries, fields),
  }))
}

export function fillEntries(entries: readonly AnnotationEntry[], fields: StepFields): AnnotationEntry[] {
  return entries.map(({ name, value }) => ({
    name,
    value: 'is' in value && typeof value.is === 'string' ? { is: fields.text(name, value.is) } : value,
  }))
}

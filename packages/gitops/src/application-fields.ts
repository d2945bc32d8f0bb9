/** The fields of a form as changes of a manifest. */
import type { ApplicationFields } from '@windlass/protocol'
import type { ManifestProblem } from './check-application.ts'
import type { Edit } from './yaml.ts'
import { valueAt } from './value-at.ts'

type Path = Edit[0]

const SOURCE: Path = ['spec', 'source']
const HELM: Path = [...SOURCE, 'helm']
const DESTINATION: Path = ['spec', 'destination']
const POLICY: Path = ['spec', 'syncPolicy']
const AUTOMATED: Path = [...POLICY, 'automated']

/** Fields that belong to the only source. */
const OF_SOURCE = [
  'repo',
  'path',
  'chart',
  'revision',
  'releaseName',
  'valueFiles',
  'parameters',
  'stringParameters',
  'recurse',
] as const satisfies readonly (keyof ApplicationFields)[]
const OF_AUTOMATIC = ['prune', 'selfHeal', 'allowEmpty'] as const satisfies readonly (keyof ApplicationFields)[]

export type FieldEdits =
  | { readonly edits: readonly Edit[]; readonly problems?: undefined }
  | { readonly problems: readonly ManifestProblem[] }

/** Returns the changes that give a manifest the fields of a form. Fields that it has already are left out. */
export function editsOfFields(manifest: unknown, fields: ApplicationFields): FieldEdits {
  const has = (path: Path): unknown => valueAt(manifest, path)
  const problems = problemsOf(fields, has)
  if (problems.length > 0) return { problems }
  const edits: Edit[] = [
    ...textEdits(fields, has),
    ...namedEdits(['metadata', 'labels'], fields.labels),
    ...namedEdits(['metadata', 'annotations'], fields.annotations),
    ...parameterEdits(has([...HELM, 'parameters']), fields),
    ...policyEdits(fields, has),
  ]
  return { edits: edits.filter(([path, value]) => JSON.stringify(has(path)) !== JSON.stringify(value)) }
}

type Has = (path: Path) => unknown

function problemsOf(fields: ApplicationFields, has: Has): ManifestProblem[] {
  const found: ManifestProblem[] = []
  const ofSource = OF_SOURCE.filter((key) => fields[key] !== undefined)
  const many =
    has(['spec', 'sources']) !== undefined
      ? 'sources'
      : has(['spec', 'sourceHydrator']) !== undefined
        ? 'sourceHydrator'
        : undefined
  if (ofSource.length > 0 && many !== undefined)
    found.push({
      path: `spec.${many}`,
      message: `The application has the field ${many}, so ${ofSource.join(', ')} do not say what to change.`,
      hint: 'Change its manifest: leave the options out to open it in an editor.',
    })
  const isAutomatic = fields.sync === undefined ? has(AUTOMATED) !== undefined : fields.sync === 'automatic'
  const ofAutomatic = OF_AUTOMATIC.filter((key) => fields[key] !== undefined)
  if (ofAutomatic.length > 0 && !isAutomatic)
    found.push({
      path: AUTOMATED.join('.'),
      message: `Only automatic syncs have ${ofAutomatic.join(', ')}, and people sync this application.`,
      hint: 'Let Argo CD sync it too, or leave them out.',
    })
  for (const [one, other] of [
    ['path', 'chart'],
    ['server', 'cluster'],
  ] as const)
    if (isText(fields[one]) && isText(fields[other]))
      found.push({ message: `${one} and ${other} exclude each other.`, hint: 'Give one of them.' })
  return found
}

function isText(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}

/** An empty text removes its field. One of two fields that exclude each other removes the other. */
function textEdits(fields: ApplicationFields, has: Has): Edit[] {
  const { project, repo, path, chart, revision, releaseName, valueFiles, recurse, server, cluster, namespace } = fields
  const edits: Edit[] = []
  const set = (at: Path, value: unknown): void => {
    if (value === undefined) return
    if (value !== '') edits.push([at, value])
    else if (has(at) !== undefined) edits.push([at, undefined])
  }
  const remove = (at: Path, isReplaced: boolean): void => {
    if (isReplaced && has(at) !== undefined) edits.push([at, undefined])
  }
  set(['spec', 'project'], project)
  set([...SOURCE, 'repoURL'], repo)
  set([...SOURCE, 'path'], path)
  remove([...SOURCE, 'path'], isText(chart))
  set([...SOURCE, 'chart'], chart)
  remove([...SOURCE, 'chart'], isText(path))
  set([...SOURCE, 'targetRevision'], revision)
  set([...HELM, 'releaseName'], releaseName)
  set([...HELM, 'valueFiles'], valueFiles?.length === 0 ? '' : valueFiles)
  set([...SOURCE, 'directory', 'recurse'], recurse)
  set([...DESTINATION, 'server'], server)
  remove([...DESTINATION, 'server'], isText(cluster))
  set([...DESTINATION, 'name'], cluster)
  remove([...DESTINATION, 'name'], isText(server))
  set([...DESTINATION, 'namespace'], namespace)
  return edits
}

function namedEdits(path: Path, values: ApplicationFields['labels']): Edit[] {
  return Object.entries(values ?? {}).map(([name, value]): Edit => [[...path, name], value ?? undefined])
}

/** Changes of a list whose elements have names: those that stay, then those that are removed from its end, then new ones. */
function parameterEdits(given: unknown, { parameters = {}, stringParameters = {} }: ApplicationFields): Edit[] {
  const path: Path = [...HELM, 'parameters']
  const before = listOf(given)
  const indexOf = (name: string): number => before.findIndex((parameter) => valueAt(parameter, ['name']) === name)
  const wanted = [
    ...Object.entries(parameters).map(([name, value]) => ({ name, value, isText: false })),
    ...Object.entries(stringParameters).map(([name, value]) => ({ name, value, isText: true })),
  ]
  const kept = wanted.flatMap(({ name, value, isText: isString }): Edit[] => {
    const index = indexOf(name)
    if (index < 0 || value === null) return []
    return [
      [[...path, index, 'value'], value],
      [[...path, index, 'forceString'], isString ? true : undefined],
    ]
  })
  const removed = wanted
    .flatMap(({ name, value }) => (value === null && indexOf(name) >= 0 ? [indexOf(name)] : []))
    .toSorted((a, b) => b - a)
  const added = wanted.flatMap(({ name, value, isText: isString }) =>
    value === null || indexOf(name) >= 0 ? [] : [{ name, value, ...(isString && { forceString: true }) }],
  )
  const left = before.length - removed.length
  if (added.length > 0 && left === 0) return [[path, added]]
  if (left === 0 && removed.length > 0) return [[path, undefined]]
  return [
    ...kept,
    ...removed.map((index): Edit => [[...path, index], undefined]),
    ...added.map((parameter, index): Edit => [[...path, left + index], parameter]),
  ]
}

function policyEdits(fields: ApplicationFields, has: Has): Edit[] {
  const { sync, syncOptions, retryLimit } = fields
  const edits: Edit[] = []
  const flags = OF_AUTOMATIC.flatMap((key) => (fields[key] === undefined ? [] : [[key, fields[key]] as const]))
  if (sync === 'manual' && has(AUTOMATED) !== undefined) edits.push([AUTOMATED, undefined])
  else if (sync === 'automatic' && has(AUTOMATED) === undefined) edits.push([AUTOMATED, Object.fromEntries(flags)])
  else {
    edits.push(...flags.map(([key, value]): Edit => [[...AUTOMATED, key], value]))
    if (sync === 'automatic' && has([...AUTOMATED, 'enabled']) === false) edits.push([[...AUTOMATED, 'enabled'], undefined])
  }
  if (syncOptions !== undefined) edits.push(...optionEdits(has([...POLICY, 'syncOptions']), syncOptions))
  if (retryLimit !== undefined) edits.push([[...POLICY, 'retry', 'limit'], retryLimit])
  return edits
}

/** An option takes the place of the one with its name. */
function optionEdits(given: unknown, wanted: readonly string[]): Edit[] {
  const path: Path = [...POLICY, 'syncOptions']
  const before = listOf(given)
  const nameOf = (option: unknown): string => String(option).split('=')[0] ?? ''
  if (before.length === 0) return [[path, wanted]]
  let count = before.length
  return wanted.map((option): Edit => {
    const index = before.findIndex((other) => nameOf(other) === nameOf(option))
    return [[...path, index < 0 ? count++ : index], option]
  })
}

function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : []
}

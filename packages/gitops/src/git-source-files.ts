/** Git sources: the files in the folder of a runtime that let Argo CD apply further repositories. */
import { isDeepStrictEqual } from 'node:util'
import {
  joinRepositoryUrl,
  problemOfRepositoryUrl,
  splitRepositoryUrl,
  type GitSource,
  type GitSourceInput,
} from '@windlass/protocol'
import { z } from 'zod'
import { ENTITY_LABEL, IN_CLUSTER_SERVER, INTERNAL_LABEL, SYNC_POLICY } from './runtime-files.ts'
import { editYaml, readManifest, toYaml, type Edit, type Manifest } from './yaml.ts'

const OWN_LABELS = { [ENTITY_LABEL]: 'git-source', [INTERNAL_LABEL]: 'false' }
/** What Argo CD calls the default branch. */
const DEFAULT_BRANCH = 'HEAD'
/** What Argo CD calls the root of a repository. */
const ROOT = '.'

/** Groups of restricted Git sources: the current one, and that of earlier versions of the original. */
const RESTRICTED_GROUPS = ['codefresh.io', 'csdp.codefresh.io']

export type NamedInput = GitSourceInput & { readonly name: string }

/** Returns the Git source of an input, without its message and without empty fields. */
export function toGitSource(input: NamedInput): GitSource {
  const { name, type, repository, include, exclude } = input
  const common = { name, type, repository, include, ...(exclude !== undefined && { exclude }) }
  if (input.type === 'restricted') {
    const { sourceNamespace, destinations, sourceRepos } = input
    return { ...common, sourceNamespace, destinations, sourceRepos }
  }
  const labels = otherLabels(input.labels)
  return { ...common, project: input.project, ...(labels !== undefined && { labels }) }
}

/** Returns true if both say the same. */
export function isSameGitSource(one: GitSource, other: GitSource): boolean {
  return isDeepStrictEqual(withoutUndefined(one), withoutUndefined(other))
}

function withoutUndefined(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Returns the file of a Git source. `namespace`: that of the runtime. */
export function gitSourceFile(input: NamedInput, namespace: string): string {
  return toYaml(input.type === 'standard' ? standard(input, namespace) : restricted(input, namespace))
}

function sourceOf({ repository, include, exclude }: NamedInput): Record<string, unknown> {
  const { clone, path, branch } = splitRepositoryUrl(repository)
  return {
    repoURL: clone,
    path: path === '' ? ROOT : path,
    targetRevision: branch ?? DEFAULT_BRANCH,
    directory: { include, ...(exclude !== undefined && { exclude }), recurse: true },
  }
}

function standard(input: NamedInput & { readonly type: 'standard' }, namespace: string): Manifest {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: input.name, namespace, labels: { ...input.labels, ...OWN_LABELS } },
    spec: {
      project: input.project,
      source: sourceOf(input),
      destination: { namespace, server: IN_CLUSTER_SERVER },
      syncPolicy: SYNC_POLICY,
    },
  }
}

/** The operator of the runtime makes the two projects and the application from it. */
function restricted(input: NamedInput & { readonly type: 'restricted' }, namespace: string): Manifest {
  return {
    apiVersion: 'codefresh.io/v1beta1',
    kind: 'RestrictedGitSource',
    metadata: { name: input.name, namespace, labels: OWN_LABELS },
    spec: {
      sourceNamespace: input.sourceNamespace,
      source: sourceOf(input),
      destinations: input.destinations,
      sourceRepos: input.sourceRepos,
    },
  }
}

const Source = z.looseObject({
  repoURL: z.string(),
  path: z.string().optional(),
  targetRevision: z.string().optional(),
  directory: z.looseObject({ include: z.string().optional(), exclude: z.string().optional() }).optional(),
})
const StandardSpec = z.looseObject({ project: z.string().optional(), source: Source })
const RestrictedSpec = z.looseObject({
  sourceNamespace: z.string().optional(),
  source: Source,
  destinations: z
    .array(z.looseObject({ name: z.string().optional(), server: z.string().optional(), namespace: z.string() }))
    .optional(),
  sourceRepos: z.array(z.string()).optional(),
})

/** Returns the Git source of a file. Undefined for a file that is something else. */
export function readGitSource(text: string): GitSource | undefined {
  const manifest = readManifest(text)
  return manifest === undefined ? undefined : gitSourceOf(manifest)
}

function gitSourceOf({ apiVersion, kind, metadata, spec }: Manifest): GitSource | undefined {
  const { name, labels } = metadata
  const [group = ''] = apiVersion.split('/')
  if (kind === 'RestrictedGitSource' && RESTRICTED_GROUPS.includes(group)) {
    const found = RestrictedSpec.safeParse(spec).data
    if (found === undefined) return undefined
    const { sourceNamespace, source, destinations, sourceRepos } = found
    const more = { sourceNamespace, destinations: destinations?.map(bare), sourceRepos }
    return { name, type: 'restricted', ...commonOf(source), ...more }
  }
  if (kind !== 'Application' || group !== 'argoproj.io' || labels?.[ENTITY_LABEL] !== 'git-source') return undefined
  const found = StandardSpec.safeParse(spec).data
  if (found === undefined) return undefined
  return { name, type: 'standard', ...commonOf(found.source), project: found.project, labels: otherLabels(labels) }
}

type Common = Pick<GitSource, 'repository' | 'include' | 'exclude'>

function commonOf({ repoURL, path = ROOT, targetRevision, directory }: z.output<typeof Source>): Common {
  const clone = problemOfRepositoryUrl(repoURL) === undefined ? splitRepositoryUrl(repoURL).clone : repoURL
  const branch = targetRevision === DEFAULT_BRANCH || targetRevision === '' ? undefined : targetRevision
  const folder = path === ROOT ? '' : path.replace(/^(?:\.?\/)+|\/+$/g, '')
  const repository = joinRepositoryUrl({ clone, path: folder, branch })
  return { repository, include: directory?.include, exclude: directory?.exclude }
}

interface Target {
  readonly name?: string | undefined
  readonly server?: string | undefined
  readonly namespace: string
}

function bare({ name, server, namespace }: Target): Target {
  return { name, server, namespace }
}

/** Returns the labels that a person has given. Undefined if there is none. */
function otherLabels(labels: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  const others = Object.entries(labels ?? {}).filter(([label]) => !Object.hasOwn(OWN_LABELS, label))
  return others.length === 0 ? undefined : Object.fromEntries(others.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Returns the file of a Git source with what the input says. Comments and fields that are not known here stay, and the text is returned unchanged if it says this
 * already. Undefined if the file is not a Git source of this type.
 */
export function editGitSource(text: string, input: NamedInput): string | undefined {
  const before = readGitSource(text)
  if (before === undefined || before.type !== input.type || before.name !== input.name) return undefined
  if (isSameGitSource(before, toGitSource(input))) return text
  const { repoURL, path, targetRevision } = sourceOf(input)
  const common: Edit[] = [
    [['spec', 'source', 'repoURL'], repoURL],
    [['spec', 'source', 'path'], path],
    [['spec', 'source', 'targetRevision'], targetRevision],
    [['spec', 'source', 'directory', 'include'], input.include],
    [['spec', 'source', 'directory', 'exclude'], input.exclude],
  ]
  if (input.type === 'restricted')
    return editYaml(text, [
      ...common,
      [['spec', 'sourceNamespace'], input.sourceNamespace],
      [['spec', 'destinations'], input.destinations],
      [['spec', 'sourceRepos'], input.sourceRepos],
    ])
  const labels = otherLabels(input.labels) ?? {}
  const removed = Object.keys(before.labels ?? {}).filter((label) => !Object.hasOwn(labels, label))
  return editYaml(text, [
    ...common,
    [['spec', 'project'], input.project],
    ...removed.map((label): Edit => [['metadata', 'labels', label], undefined]),
    ...Object.entries(labels).map(([label, value]): Edit => [['metadata', 'labels', label], value]),
  ])
}

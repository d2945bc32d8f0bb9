/** Reads the parts of a job that have fields: images, services, variables, caches and artifacts. Throws `document-invalid`. */
import type { CiArtifacts, CiCache, CiImage, CiVariable } from './ci-job.ts'
import { ARTIFACT_FIELDS, CACHE_FIELDS, IMAGE_FIELDS, SERVICE_FIELDS } from './keywords.ts'
import { invalid, type CiWarning, type Node, type TableNode } from './node.ts'
import { booleanOf, checkFields, fieldOf, oneOfTexts, placeOf, tableOf, textOf, textsOf } from './read-values.ts'

export interface PartOptions {
  /** Name of the job. */
  readonly job: string
  readonly warnings: CiWarning[]
}

const WHEN = ['on_success', 'on_failure', 'always'] as const
const POLICIES = ['always', 'if-not-present', 'never'] as const

/** Reads `image`. */
export function readImage(node: Node, options: PartOptions): CiImage {
  if (node.kind !== 'table') return { name: textOf(node, 'image') }
  checkFields(node, { ...options, known: IMAGE_FIELDS, prefix: 'image:' })
  return imageFields(node, 'image', options)
}

/** Reads `services`. */
export function readServices(node: Node, options: PartOptions): CiImage[] {
  if (node.kind !== 'list') throw invalid(node.at, 'services must be a list')
  return node.items.flatMap((item) => (item.kind === 'list' ? readServices(item, options) : [readService(item, options)]))
}

function readService(node: Node, options: PartOptions): CiImage {
  if (node.kind !== 'table') return { name: textOf(node, 'a service') }
  checkFields(node, { ...options, known: SERVICE_FIELDS, prefix: 'services:' })
  const [command, variables, alias] = ['command', 'variables', 'alias'].map((key) => fieldOf(node, key))
  return {
    ...imageFields(node, 'services', options),
    ...(alias !== undefined && { alias: textsOf(alias, 'services:alias').join(' ') }),
    ...(command !== undefined && { command: textsOf(command, 'services:command') }),
    ...(variables !== undefined && { variables: readVariables(variables, 'services:variables') }),
  }
}

function imageFields(table: TableNode, prefix: 'image' | 'services', { job, warnings }: PartOptions): CiImage {
  const [name, entrypoint, docker, policies] = ['name', 'entrypoint', 'docker', 'pull_policy'].map((key) => fieldOf(table, key))
  if (name === undefined) throw invalid(table.at, `${prefix} of the job "${job}" has no name`)
  const settings = docker === undefined ? undefined : tableOf(docker, `${prefix}:docker`)
  const user = settings === undefined ? undefined : fieldOf(settings, 'user')
  // Only the build container has a user in the runner API.
  for (const key of prefix === 'image' ? ['platform'] : ['platform', 'user'])
    if (settings?.entries.has(key) === true)
      warnings.push({
        ...placeOf(settings, key),
        message: `"${prefix}:docker:${key}" of the job "${job}" has no effect in a local run: that of Docker or of the image is used`,
      })
  return {
    name: textOf(name, `${prefix}:name`),
    ...(entrypoint !== undefined && { entrypoint: textsOf(entrypoint, `${prefix}:entrypoint`) }),
    ...(policies !== undefined && { pull_policy: pullPoliciesOf(policies, `${prefix}:pull_policy`) }),
    // The runner API has the user of a container in this field.
    ...(user !== undefined && { executor_opts: { kubernetes: { user: textOf(user, `${prefix}:docker:user`) } } }),
  }
}

function pullPoliciesOf(node: Node, what: string): string[] {
  return (node.kind === 'list' ? node.items : [node]).map((item) => oneOfTexts(item, what, POLICIES))
}

const MAX_NAME = 255

/** Reads `variables` of a file, a job or a service. */
export function readVariables(node: Node, what: string): CiVariable[] {
  return [...tableOf(node, what).entries].map(([key, { at, value }]) => {
    if (key.length > MAX_NAME || !/^[^=\s\0]+$/.test(key))
      throw invalid(at, `"${key.slice(0, MAX_NAME)}" cannot be the name of a variable`)
    if (value.kind !== 'table') return { key, value: variableText(value, `${what}:${key}`), public: true }
    const [given, expand] = ['value', 'expand'].map((field) => fieldOf(value, field))
    return {
      key,
      value: given === undefined ? '' : variableText(given, `${what}:${key}:value`),
      public: true,
      ...(expand !== undefined && { raw: !booleanOf(expand, `${what}:${key}:expand`) }),
    }
  })
}

function variableText(node: Node, what: string): string {
  if (node.kind === 'scalar') return node.value === null ? '' : String(node.value)
  throw invalid(node.at, `${what} must be a text`)
}

/** Most caches of a job, as on a GitLab server. */
const MAX_CACHES = 4

/** Reads `cache`: a table, or a list of tables. */
export function readCaches(node: Node, options: PartOptions): CiCache[] {
  const items = node.kind === 'list' ? node.items : [node]
  if (items.length > MAX_CACHES) throw invalid(node.at, `a job can have at most ${MAX_CACHES} caches`)
  return items.map((item) => readCache(tableOf(item, 'cache'), options)).filter(({ paths }) => paths.length > 0)
}

function readCache(table: TableNode, options: PartOptions): CiCache {
  checkFields(table, { ...options, known: CACHE_FIELDS, prefix: 'cache:' })
  const [key, paths, policy, when, fallback] = ['key', 'paths', 'policy', 'when', 'fallback_keys'].map((field) =>
    fieldOf(table, field),
  )
  return {
    key: key === undefined ? 'default' : readKey(key),
    paths: paths === undefined ? [] : textsOf(paths, 'cache:paths'),
    // A policy can be a variable.
    policy: policy === undefined ? '' : textOf(policy, 'cache:policy'),
    when: when === undefined ? 'on_success' : oneOfTexts(when, 'cache:when', WHEN),
    fallbackKeys: fallback === undefined ? [] : textsOf(fallback, 'cache:fallback_keys'),
  }
}

function readKey(node: Node): CiCache['key'] {
  if (node.kind !== 'table') return textOf(node, 'cache:key')
  const [files, commits, prefix] = ['files', 'files_commits', 'prefix'].map((field) => fieldOf(node, field))
  const given = files ?? commits
  if (given === undefined) throw invalid(node.at, 'cache:key has no files')
  return { files: textsOf(given, 'cache:key:files'), prefix: prefix === undefined ? '' : textOf(prefix, 'cache:key:prefix') }
}

/** Reads `artifacts`. Returns undefined if no paths are named. */
export function readArtifacts(node: Node, options: PartOptions): CiArtifacts | undefined {
  const table = tableOf(node, 'artifacts')
  checkFields(table, { ...options, known: ARTIFACT_FIELDS, prefix: 'artifacts:' })
  const [paths, exclude, when] = ['paths', 'exclude', 'when'].map((field) => fieldOf(table, field))
  if (paths === undefined) return undefined
  return {
    paths: textsOf(paths, 'artifacts:paths'),
    exclude: exclude === undefined ? [] : textsOf(exclude, 'artifacts:exclude'),
    when: when === undefined ? 'on_success' : oneOfTexts(when, 'artifacts:when', WHEN),
  }
}

/** A step with its variables filled in, ready to run. What is wrong with it then is told as values: the step fails as `invalid-step`. */
import { toDockerTag, VOLUME_PATH } from './builtin-variables.ts'
import { parseDuration } from './duration.ts'
import type {
  Action,
  BuildAction,
  FlagTemplate,
  FreestyleAction,
  GitCloneAction,
  PlanStep,
  PushAction,
  Retry,
  Template,
} from './plan.ts'
import type { Reason } from './lists.ts'
import { resolveDirectory, resolveMount, repositoryName } from './paths.ts'
import type { Mount } from './paths.ts'
import type { BuildScope, Purpose } from './scope.ts'
import { exactReference, substitute } from './substitute.ts'

/** The same fields with flags as booleans. */
type Filled<A> = { readonly [K in keyof A]: boolean extends A[K] ? Exclude<A[K], string> : A[K] }

export type ResolvedFreestyle = Filled<FreestyleAction> & {
  /** Where the container starts; absent means the image's own directory. */
  readonly directory?: string
  readonly mounts: readonly Mount[]
  /** The step that made the image, when `image` names one. */
  readonly imageStep?: string
}
export type ResolvedGitClone = Filled<GitCloneAction> & {
  /** The folder that the repository goes to. */
  readonly directory: string
}
export type ResolvedBuild = Filled<BuildAction> & { readonly directory: string }
export type ResolvedPush = Filled<PushAction> & {
  /** The step that made the candidate, when `candidate` names one. */
  readonly candidateStep?: string
}
export type ResolvedAction = ResolvedFreestyle | ResolvedGitClone | ResolvedBuild | ResolvedPush

export interface ResolvedStep {
  readonly name: string
  readonly title: string
  readonly failFast: boolean
  readonly strictFailFast: boolean
  /** Absent means no limit. */
  readonly timeoutMs?: number
  readonly retry: Retry
  readonly action: ResolvedAction
  /** All variables of the build and the step's own, the step's own winning: what a container of the step gets. */
  readonly environment: Readonly<Record<string, string>>
}

export interface StepProblem {
  /** As written in the document, such as `image` or `volumes[0]`. */
  readonly field: string
  readonly message: string
  readonly reason: Extract<Reason, 'invalid-step' | 'mount-invalid'>
}

export interface StepResolution {
  /** Absent when there is a problem. */
  readonly step?: ResolvedStep
  readonly problems: readonly StepProblem[]
  /** Names that nobody defined; their references stay in the texts. Worth a warning in the log. */
  readonly unresolved: readonly string[]
}

/** Fills in a step at the moment it starts. Never throws: all problems are told at once. */
export function resolveStep(step: PlanStep, scope: BuildScope, tryNumber = 1): StepResolution {
  const outer = scope.within({ name: step.name, try: tryNumber, maxAttempts: step.retry.maxAttempts })
  const notes: Notes = { problems: [], unresolved: new Set() }
  const own = step.action.kind === 'freestyle' ? ownEnvironment(step.action, outer, notes) : {}
  const fields = new Fields(outer.with(own), notes)
  const action = fillAction(step.action, fields)
  const timeoutMs = fillTimeout(step, fields)
  const resolved: ResolvedStep = {
    name: step.name,
    title: fields.text('title', step.title),
    failFast: fields.flag('fail_fast', step.failFast),
    strictFailFast: fields.flag('strict_fail_fast', step.strictFailFast),
    ...(timeoutMs !== undefined && { timeoutMs }),
    retry: step.retry,
    action,
    environment: { ...outer.environment(), ...own },
  }
  return { ...(notes.problems.length === 0 && { step: resolved }), problems: notes.problems, unresolved: [...notes.unresolved] }
}

interface Notes {
  readonly problems: StepProblem[]
  readonly unresolved: Set<string>
}

/** Fills in fields and gathers what is wrong with them. */
class Fields {
  readonly scope: BuildScope
  readonly notes: Notes

  constructor(scope: BuildScope, notes: Notes) {
    this.scope = scope
    this.notes = notes
  }

  text(field: string, template: Template, purpose: Purpose = 'text'): string {
    const { text, unresolved, overflow } = substitute(template, this.scope.as(purpose))
    for (const name of unresolved) this.notes.unresolved.add(name)
    if (overflow) this.problem(field, `"${field}" is too long once its variables are filled in`)
    if (text.includes('\0')) this.problem(field, `"${field}" must not contain a NUL character`)
    return text
  }

  /** Like `text`, for a field that cannot do its work when a name in it is not defined, or when it is empty. */
  needed(field: string, template: Template, purpose: Purpose = 'text'): string {
    const { unresolved } = substitute(template, this.scope.as(purpose))
    const text = this.text(field, template, purpose)
    const [missing] = unresolved
    if (missing !== undefined) this.problem(field, `"${field}" refers to "${missing}", which has no value`)
    else if (text.trim() === '') this.problem(field, `"${field}" is not allowed to be empty`)
    return text
  }

  optional<K extends string>(key: K, field: string, template: Template | undefined): { readonly [P in K]?: string } {
    const filled: { [P in K]?: string } = {}
    if (template !== undefined) filled[key] = this.text(field, template)
    return filled
  }

  list(field: string, templates: readonly Template[]): string[] {
    return templates.map((template, index) => this.text(`${field}[${index}]`, template))
  }

  flag(field: string, template: FlagTemplate): boolean {
    const value = typeof template === 'boolean' ? template : toFlag(this.text(field, template))
    if (value === undefined) this.problem(field, `"${field}" must be a boolean. Current value: ${quote(template)}`)
    return value ?? true
  }

  problem(field: string, message: string, reason: StepProblem['reason'] = 'invalid-step'): void {
    this.notes.problems.push({ field, message, reason })
  }
}

/** A boolean from the texts that the language takes for one (pipeline language 2.1), in any case; undefined for other texts. */
export function toFlag(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (['true', 'yes', 'on', '1'].includes(word)) return true
  return ['false', 'no', 'off', '0'].includes(word) ? false : undefined
}

function quote(template: FlagTemplate): string {
  const text = String(template)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function ownEnvironment(action: FreestyleAction, scope: BuildScope, notes: Notes): Record<string, string> {
  const fields = new Fields(scope, notes)
  const own: Record<string, string> = Object.create(null)
  for (const [index, template] of action.environment.entries()) {
    const entry = fields.text(`environment[${index}]`, template)
    const at = entry.indexOf('=')
    if (at < 1) fields.problem(`environment[${index}]`, `"environment[${index}]" must have the form NAME=VALUE`)
    else own[entry.slice(0, at)] = entry.slice(at + 1)
  }
  return own
}

function fillTimeout(step: PlanStep, fields: Fields): number | undefined {
  if (step.timeout === undefined) return undefined
  const ms = parseDuration(fields.text('timeout', step.timeout))
  return ms === 0 ? undefined : ms
}

function fillAction(action: Action, fields: Fields): ResolvedAction {
  switch (action.kind) {
    case 'freestyle':
      return fillFreestyle(action, fields)
    case 'git-clone':
      return fillGitClone(action, fields)
    case 'build':
      return fillBuild(action, fields)
    case 'push':
      return fillPush(action, fields)
  }
}

function fillFreestyle(action: FreestyleAction, fields: Fields): ResolvedFreestyle {
  const own = resolveDirectory(fields.scope, directoryText(action.workingDirectory, fields), 'main-clone')
  const imageStep = stepIn(action.image, fields)
  return {
    kind: 'freestyle',
    image: fields.needed('image', action.image, 'image'),
    ...(imageStep !== undefined && { imageStep }),
    ...fields.optional('workingDirectory', 'working_directory', action.workingDirectory),
    ...(own !== undefined && { directory: own }),
    ...(action.commands !== undefined && { commands: fields.list('commands', action.commands) }),
    ...(action.cmd !== undefined && { cmd: fields.list('cmd', action.cmd) }),
    ...(action.entryPoint !== undefined && { entryPoint: fields.list('entry_point', action.entryPoint) }),
    shell: action.shell,
    environment: fields.list('environment', action.environment),
    volumes: fields.list('volumes', action.volumes),
    mounts: fillMounts(action, fields),
    ...fields.optional('registryContext', 'registry_context', action.registryContext),
  }
}

function fillMounts(action: FreestyleAction, fields: Fields): Mount[] {
  const mounts: Mount[] = []
  for (const [index, template] of action.volumes.entries()) {
    const field = `volumes[${index}]`
    const mount = resolveMount(fields.text(field, template))
    if (typeof mount === 'string') fields.problem(field, `"${field}" ${mount}`, 'mount-invalid')
    else if (mounts.some(({ target }) => target === mount.target))
      fields.problem(field, `"${field}" mounts ${mount.target} a second time`, 'mount-invalid')
    else mounts.push(mount)
  }
  return mounts
}

function fillGitClone(action: GitCloneAction, fields: Fields): ResolvedGitClone {
  const repo = fields.needed('repo', action.repo)
  const parent =
    resolveDirectory(fields.scope, directoryText(action.workingDirectory, fields), 'volume') ??
    fields.scope.lookup('CF_VOLUME_PATH') ??
    VOLUME_PATH
  const name = repositoryName(repo)
  if (name === undefined) fields.problem('repo', '"repo" must be owner/name or the URL of a repository')
  return {
    kind: 'git-clone',
    repo,
    ...fields.optional('revision', 'revision', action.revision),
    ...fields.optional('git', 'git', action.git),
    ...fields.optional('workingDirectory', 'working_directory', action.workingDirectory),
    directory: `${parent.replace(/\/$/, '')}/${name ?? ''}`,
    ...fillCredentials(action.credentials, fields),
    ...(action.depth !== undefined && { depth: action.depth }),
    excludeBlobs: fields.flag('exclude_blobs', action.excludeBlobs),
    skipTagsOnUpdate: fields.flag('skip_tags_on_update', action.skipTagsOnUpdate),
    useProxy: fields.flag('use_proxy', action.useProxy),
  }
}

function fillBuild(action: BuildAction, fields: Fields): ResolvedBuild {
  const { dockerfile } = action
  return {
    kind: 'build',
    imageName: fields.needed('image_name', action.imageName).toLowerCase(),
    tags: fillBuildTags(action, fields),
    tagPolicy: action.tagPolicy,
    dockerfile:
      'path' in dockerfile
        ? { path: fields.needed('dockerfile', dockerfile.path) }
        : { content: fields.text('dockerfile.content', dockerfile.content) },
    ...fields.optional('workingDirectory', 'working_directory', action.workingDirectory),
    directory:
      resolveDirectory(fields.scope, directoryText(action.workingDirectory, fields), 'main-clone') ??
      fields.scope.lookup('CF_VOLUME_PATH') ??
      VOLUME_PATH,
    buildArguments: fields.list('build_arguments', action.buildArguments),
    ...fields.optional('target', 'target', action.target),
    noCache: fields.flag('no_cache', action.noCache),
    noCfCache: fields.flag('no_cf_cache', action.noCfCache),
    cacheFrom: fields.list('cache_from', action.cacheFrom),
    ...fields.optional('registry', 'registry', action.registry),
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    ...(action.disablePush !== undefined && { disablePush: fields.flag('disable_push', action.disablePush) }),
    buildkit: fields.flag('buildkit', action.buildkit),
    ...fields.optional('progress', 'progress', action.progress),
  }
}

const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/

/** Without any tag: the branch as a tag, else the short revision, else `latest`. */
function fillBuildTags(action: BuildAction, fields: Fields): string[] {
  if (action.tags.length > 0) return action.tags.map((tag, index) => fillTag(tag, index, action, fields))
  const branch = fields.scope.lookup('CF_BRANCH')
  const tag = fields.scope.lookup('CF_BRANCH_TAG_NORMALIZED') ?? (branch === undefined ? undefined : toDockerTag(branch))
  const usual = tag ?? fields.scope.lookup('CF_SHORT_REVISION') ?? 'latest'
  return [action.tagPolicy === 'lowercase' ? usual.toLowerCase() : usual]
}

function fillTag(template: Template, index: number, action: BuildAction | PushAction, fields: Fields): string {
  const field = action.tags.length === 1 ? 'tag' : `tags[${index}]`
  const text = fields.needed(field, template)
  const tag = action.kind === 'build' && action.tagPolicy === 'lowercase' ? text.toLowerCase() : text
  if (text !== '' && !text.includes('${{') && !TAG.test(tag))
    fields.problem(field, `"${field}" is not a valid image tag. Current value: ${quote(tag)}`)
  return tag
}

function fillPush(action: PushAction, fields: Fields): ResolvedPush {
  const candidateStep = stepIn(action.candidate, fields)
  return {
    kind: 'push',
    candidate: fields.needed('candidate', action.candidate, 'image'),
    ...(candidateStep !== undefined && { candidateStep }),
    ...fields.optional('registry', 'registry', action.registry),
    ...fields.optional('imageName', 'image_name', action.imageName),
    tags: action.tags.map((tag, index) => fillTag(tag, index, action, fields)),
    ...fields.optional('registryContext', 'registry_context', action.registryContext),
    ...fillCredentials(action.credentials, fields),
  }
}

function fillCredentials(credentials: GitCloneAction['credentials'], fields: Fields): Pick<GitCloneAction, 'credentials'> {
  if (credentials === undefined) return {}
  return {
    credentials: {
      username: fields.needed('credentials.username', credentials.username),
      password: fields.needed('credentials.password', credentials.password),
    },
  }
}

function directoryText(template: Template | undefined, fields: Fields): string {
  return template === undefined ? '' : fields.needed('working_directory', template, 'directory')
}

/** The step that an image field names alone: `${{build}}`, `${{steps.build.imageId}}`. */
function stepIn(template: Template, fields: Fields): string | undefined {
  const name = exactReference(template)?.trim()
  const step = name?.startsWith('steps.') === true ? name.slice('steps.'.length).split('.')[0] : name?.split('.')[0]
  return step !== undefined && fields.scope.isStep(step) ? step : undefined
}

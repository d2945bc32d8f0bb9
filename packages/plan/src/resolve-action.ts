/** The action of a step with its variables filled in, one function for each kind. */
import { toDockerTag, VOLUME_PATH } from './builtin-variables.ts'
import { repositoryName, resolveDirectory, resolveMount } from './paths.ts'
import type { Mount } from './paths.ts'
import type {
  Action,
  AnnotateAction,
  ApprovalAction,
  Aws,
  BuildAction,
  FreestyleAction,
  GitCloneAction,
  GroupAction,
  PushAction,
  PushTagAction,
  Template,
} from './plan.ts'
import { fillAnnotations, fillComposition, fillDeploy, fillEntries, fillLaunch } from './resolve-compose.ts'
import type { ResolvedComposition, ResolvedDeploy, ResolvedLaunch } from './resolve-compose.ts'
import { quote } from './step-fields.ts'
import type { StepFields } from './step-fields.ts'
import { exactReference } from './substitute.ts'

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
export type ResolvedBuild = Omit<Filled<BuildAction>, 'buildx' | 'cosign'> & {
  readonly directory: string
  readonly buildx: boolean | Exclude<BuildAction['buildx'], boolean | string>
  readonly cosign?: { readonly sign: boolean; readonly options: Readonly<Record<string, string>> }
}
export type ResolvedPush = Filled<PushAction> & {
  /** The step that made the candidate, when `candidate` names one. */
  readonly candidateStep?: string
}
export type ResolvedPushTag = Filled<PushTagAction>
export type ResolvedAction =
  | ResolvedFreestyle
  | ResolvedGitClone
  | ResolvedBuild
  | ResolvedPush
  | ResolvedPushTag
  | ResolvedComposition
  | ResolvedLaunch
  | ResolvedDeploy
  | AnnotateAction
  | ApprovalAction
  | GroupAction

/** Fills in an action; what is wrong with it is noted in `fields`. */
export function fillAction(action: Action, fields: StepFields, step: string): ResolvedAction {
  switch (action.kind) {
    case 'push-tag':
      return fillPushTag(action, fields)
    case 'composition':
      return fillComposition(action, fields)
    case 'launch-composition':
      return fillLaunch(action, fields, step)
    case 'deploy':
      return fillDeploy(action, fields)
    case 'annotate':
      return fillAnnotate(action, fields)
    case 'pending-approval':
    case 'group':
      return action
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

function fillFreestyle(action: FreestyleAction, fields: StepFields): ResolvedFreestyle {
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
    ...fields.optional('roleArn', 'role_arn', action.roleArn),
  }
}

function fillMounts(action: FreestyleAction, fields: StepFields): Mount[] {
  const mounts: Mount[] = []
  for (const [index, template] of action.volumes.entries()) {
    const field = `volumes[${index}]`
    const mount = resolveMount(fields.text(field, template))
    if (typeof mount === 'string') fields.problem(field, `"${field}" ${mount}`, 'mount-invalid')
    else if (mounts.some(({ target }) => target === mount.target))
      fields.problem(field, `"${field}" mounts the same place a second time`, 'mount-invalid')
    else mounts.push(mount)
  }
  return mounts
}

function fillGitClone(action: GitCloneAction, fields: StepFields): ResolvedGitClone {
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

function fillBuild(action: BuildAction, fields: StepFields): ResolvedBuild {
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
    squash: fields.flag('squash', action.squash),
    cacheTo: fields.list('cache_to', action.cacheTo),
    secrets: action.secrets.map(({ id, src }, index) => ({
      id: fields.needed(`secrets[${index}].id`, id),
      src: fields.needed(`secrets[${index}].src`, src),
    })),
    ssh: fields.list('ssh', action.ssh),
    buildx: fillBuildx(action.buildx, fields),
    ...fields.optional('platform', 'platform', action.platform),
    ...(action.cosign !== undefined && {
      cosign: {
        sign: fields.flag('cosign.sign', action.cosign.sign),
        options: Object.fromEntries(
          Object.entries(action.cosign.options).map(([key, value]) => [key, fields.text(`cosign.options.${key}`, value)]),
        ),
      },
    }),
    ...fillAws(action.aws, fields),
  }
}

function fillBuildx(buildx: BuildAction['buildx'], fields: StepFields): ResolvedBuild['buildx'] {
  if (typeof buildx !== 'object') return fields.flag('buildx', buildx)
  const { qemu, builder } = buildx
  return {
    qemu: {
      image: fields.needed('buildx.qemu.image', qemu.image),
      platforms: fields.needed('buildx.qemu.platforms', qemu.platforms),
    },
    builder: {
      driver: fields.needed('buildx.builder.driver', builder.driver),
      ...fields.optional('driverOpts', 'buildx.builder.driver_opts', builder.driverOpts),
    },
  }
}

function fillAws(aws: Aws | undefined, fields: StepFields): { readonly aws?: Aws } {
  if (aws === undefined) return {}
  return {
    aws: {
      ...fields.optional('region', 'region', aws.region),
      ...fields.optional('roleArn', 'role_arn', aws.roleArn),
      ...fields.optional('sessionName', 'aws_session_name', aws.sessionName),
      ...(aws.durationSeconds !== undefined && { durationSeconds: aws.durationSeconds }),
      ...fields.optional('accessKeyId', 'accessKeyId', aws.accessKeyId),
      ...fields.optional('secretAccessKey', 'secretAccessKey', aws.secretAccessKey),
    },
  }
}

function fillPushTag(action: PushTagAction, fields: StepFields): ResolvedPushTag {
  return {
    kind: 'push-tag',
    imageName: fields.needed('image_name', action.imageName, 'image'),
    tags: action.tags.map((tag, index) => fields.needed(`tags[${index}]`, tag)),
    ...fields.optional('registry', 'registry', action.registry),
    ...fillAws(action.aws, fields),
  }
}

function fillAnnotate(action: AnnotateAction, fields: StepFields): AnnotateAction {
  return {
    kind: 'annotate',
    set: fillAnnotations(action.set, fields),
    unset: action.unset.map((unset) => ({ ...unset, ...fields.optional('id', 'annotations.unset.entity_id', unset.id) })),
    metadata: action.metadata.map(({ image, entries }) => ({
      ...(image !== undefined && { image: fields.needed('metadata.set', image, 'image') }),
      entries: fillEntries(entries, fields),
    })),
  }
}

const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/

/** Without any tag: the branch as a tag, else the short revision, else `latest`. */
function fillBuildTags(action: BuildAction, fields: StepFields): string[] {
  if (action.tags.length > 0) return action.tags.map((tag, index) => fillTag(tag, index, action, fields))
  const branch = fields.scope.lookup('CF_BRANCH')
  const tag = fields.scope.lookup('CF_BRANCH_TAG_NORMALIZED') ?? (branch === undefined ? undefined : toDockerTag(branch))
  const usual = tag ?? fields.scope.lookup('CF_SHORT_REVISION') ?? 'latest'
  return [action.tagPolicy === 'lowercase' ? usual.toLowerCase() : usual]
}

function fillTag(template: Template, index: number, action: BuildAction | PushAction, fields: StepFields): string {
  const field = action.tags.length === 1 ? 'tag' : `tags[${index}]`
  const text = fields.needed(field, template)
  const tag = action.kind === 'build' && action.tagPolicy === 'lowercase' ? text.toLowerCase() : text
  if (text !== '' && !text.includes('${{') && !TAG.test(tag))
    fields.problem(field, `"${field}" is not a valid image tag. Current value: ${quote(template)}`)
  return tag
}

function fillPush(action: PushAction, fields: StepFields): ResolvedPush {
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
    ...fillAws(action.aws, fields),
  }
}

function fillCredentials(credentials: GitCloneAction['credentials'], fields: StepFields): Pick<GitCloneAction, 'credentials'> {
  if (credentials === undefined) return {}
  return {
    credentials: {
      username: fields.needed('credentials.username', credentials.username),
      password: fields.needed('credentials.password', credentials.password),
    },
  }
}

function directoryText(template: Template | undefined, fields: StepFields): string {
  return template === undefined ? '' : fields.needed('working_directory', template, 'directory')
}

/** The step that an image field names alone: `${{build}}`, `${{steps.build.imageId}}`. */
function stepIn(template: Template, fields: StepFields): string | undefined {
  const name = exactReference(template)?.trim()
  const step = name?.startsWith('steps.') === true ? name.slice('steps.'.length).split('.')[0] : name?.split('.')[0]
  return step === undefined ? undefined : fields.scope.findStep(step)
}

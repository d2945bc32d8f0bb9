/** The fields of each step type as the action of a plan step. */
import type { Action, BuildAction, FreestyleAction, GitCloneAction, PushAction } from '@windlass/plan'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { child, textOf } from './tree.ts'

/** The action of a step whose fields were checked; undefined for a type that this version does not run. */
export function toAction(type: string, entries: Entries): Action | undefined {
  switch (type) {
    case 'freestyle':
      return freestyle(entries)
    case 'git-clone':
      return gitClone(entries)
    case 'build':
      return build(entries)
    case 'push':
      return push(entries)
    default:
      return undefined
  }
}

function freestyle(entries: Entries): FreestyleAction {
  return {
    kind: 'freestyle',
    image: read.text(entries, 'image') ?? '',
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    ...read.when('commands', read.texts(entries, 'commands')),
    ...read.when('cmd', read.line(entries, 'cmd')),
    ...read.when('entryPoint', read.line(entries, 'entry_point')),
    shell: read.text(entries, 'shell') === 'bash' ? 'bash' : 'sh',
    environment: read.texts(entries, 'environment') ?? [],
    volumes: read.texts(entries, 'volumes') ?? [],
    ...read.when('registryContext', read.text(entries, 'registry_context')),
  }
}

function gitClone(entries: Entries): GitCloneAction {
  return {
    kind: 'git-clone',
    repo: read.text(entries, 'repo') ?? '',
    ...read.when('revision', read.text(entries, 'revision')),
    ...read.when('git', read.text(entries, 'git')),
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    ...read.when('credentials', read.credentials(entries)),
    ...read.when('depth', read.number(entries, 'depth')),
    excludeBlobs: read.flag(entries, 'exclude_blobs') ?? false,
    skipTagsOnUpdate: read.flag(entries, 'skip_tags_on_update') ?? false,
    useProxy: read.flag(entries, 'use_proxy') ?? false,
  }
}

function build(entries: Entries): BuildAction {
  const content = textOf(child(read.map(entries, 'dockerfile'), 'content'))
  const progress = read.text(entries, 'progress')
  return {
    kind: 'build',
    imageName: read.text(entries, 'image_name') ?? '',
    tags: tagsOf(entries),
    tagPolicy: read.text(entries, 'tag_policy') === 'original' ? 'original' : 'lowercase',
    dockerfile: content === undefined ? { path: read.text(entries, 'dockerfile') ?? 'Dockerfile' } : { content },
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    buildArguments: read.texts(entries, 'build_arguments') ?? [],
    ...read.when('target', read.text(entries, 'target')),
    noCache: read.flag(entries, 'no_cache') ?? false,
    noCfCache: read.flag(entries, 'no_cf_cache') ?? false,
    cacheFrom: read.texts(entries, 'cache_from') ?? [],
    ...read.when('registry', read.text(entries, 'registry')),
    registryContexts: read.texts(entries, 'registry_contexts') ?? [],
    ...read.when('disablePush', read.flag(entries, 'disable_push')),
    buildkit: progress === undefined ? (read.flag(entries, 'buildkit') ?? false) : true,
    ...read.when('progress', progress),
    squash: read.flag(entries, 'squash') ?? false,
    cacheTo: read.texts(entries, 'cache_to') ?? [],
    secrets: [],
    ssh: [],
    buildx: false,
  }
}

function push(entries: Entries): PushAction {
  const tags = tagsOf(entries)
  return {
    kind: 'push',
    candidate: read.text(entries, 'candidate') ?? '',
    ...read.when('registry', read.text(entries, 'registry')),
    ...read.when('imageName', read.text(entries, 'image_name')),
    tags: tags.length === 0 ? ['latest'] : tags,
    ...read.when('registryContext', read.text(entries, 'registry_context')),
    ...read.when('credentials', read.credentials(entries)),
  }
}

/** `tag` and `tags` together, each once. */
function tagsOf(entries: Entries): string[] {
  const single = read.text(entries, 'tag')
  return [...new Set([...(single === undefined ? [] : [single]), ...(read.texts(entries, 'tags') ?? [])])]
}

/** Kind git-clone: clones a repository to the shared volume. */
import { fillVolumeDirectory } from '../fields/directory.ts'
import { repositoryName } from '../fields/paths.ts'
import { fillCredentials } from '../fields/registry.ts'
import type { Credentials } from '../fields/registry.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, FlagTemplate, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface GitCloneAction {
  readonly kind: 'git-clone'
  /** `owner/name` or a URL (http, https, ssh, scp form, file). */
  readonly repo: Template
  readonly revision?: Template
  /** Name of the Git context; default: the default context. */
  readonly git?: Template
  readonly workingDirectory?: Template
  readonly credentials?: Credentials
  readonly depth?: number
  readonly excludeBlobs: FlagTemplate
  readonly skipTagsOnUpdate: FlagTemplate
  readonly useProxy: FlagTemplate
}

export type ResolvedGitClone = Filled<GitCloneAction> & {
  /** The folder of the clone. */
  readonly directory: string
}

export const gitClone = {
  performedBy: 'engine',
  resolve,
  subject: ({ repo, revision }, fill) => (revision === undefined ? fill(repo) : `${fill(repo)} @ ${fill(revision)}`),
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: true,
} satisfies ActionKind<GitCloneAction, ResolvedGitClone>

function resolve(action: GitCloneAction, fields: StepFields): ResolvedGitClone {
  const repo = fields.required('repo', action.repo)
  const parent = fillVolumeDirectory(action.workingDirectory, fields, 'volume')
  const name = repositoryName(repo)
  if (name === undefined) fields.problem('repo', '"repo" must be owner/name or a repository URL')
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

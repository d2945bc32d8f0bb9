/** Step type git-clone. */
import type { GitCloneAction } from '@windlass/plan'
import { checkGit } from '../context/check-git.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { flag, text } from '../language/shape.ts'
import type { BuiltInStepType } from '../language/step-type.ts'
import { credentials, renameField, workingDirectory } from './common-fields.ts'

export const gitClone: BuiltInStepType<GitCloneAction> = {
  about: 'Clones a Git repository to the shared volume.',
  open: false,
  fields: {
    repo: { shape: text, required: true, about: '`owner/name`, or a repository URL.' },
    revision: { shape: text, about: 'Branch, tag or commit; the default branch of the repository if absent.' },
    git: { shape: text, about: 'Git integration; the default one if absent.' },
    working_directory: { ...workingDirectory, about: 'Parent folder of the clone; the shared volume by default.' },
    credentials,
    use_proxy: { shape: flag, about: 'Uses HTTP_PROXY and HTTPS_PROXY of the build; false by default.' },
    depth: { shape: { kind: 'number', above: 0, whole: true }, about: 'Number of commits to fetch; all by default.' },
    exclude_blobs: {
      shape: flag,
      aliases: ['exclude_blob'],
      about: 'Does not fetch file contents of old commits; false by default.',
    },
    skip_tags_on_update: { shape: flag, about: 'Does not fetch tags when it updates an existing clone; false by default.' },
  },
  checkContext: checkGit,
  fromManifest: (entries) => renameField(entries, 'repository', 'repo'),
  toAction: (entries: Entries): GitCloneAction => ({
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
  }),
}

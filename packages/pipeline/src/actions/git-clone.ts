/** Steps of type git-clone (pipeline language 2.3). */
import type { GitCloneAction } from '@windlass/plan'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { flag, text } from '../shape.ts'
import type { StepType } from '../step-type.ts'
import { credentials, workingDirectory } from './common-fields.ts'

export const gitClone: StepType = {
  about: 'Clones a git repository to the shared volume.',
  open: false,
  fields: {
    repo: { shape: text, required: true, about: '`owner/name`, or the URL of a repository.' },
    revision: { shape: text, about: 'Branch, tag or commit; the repository’s default branch by default.' },
    git: { shape: text, about: 'The git integration; the default one by default.' },
    working_directory: { ...workingDirectory, about: 'The folder that the clone is put in; the shared volume by default.' },
    credentials,
    use_proxy: { shape: flag, about: 'Honours HTTP_PROXY and HTTPS_PROXY of the build; false by default.' },
    depth: { shape: { kind: 'number', above: 0, whole: true }, about: 'Number of commits to fetch; all by default.' },
    exclude_blobs: { shape: flag, aliases: ['exclude_blob'], about: 'Leaves out the contents of old commits; false by default.' },
    skip_tags_on_update: { shape: flag, about: 'Fetches no tags when a clone is there already; false by default.' },
  },
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

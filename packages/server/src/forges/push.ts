/** Push events, which all forges report with the same facts. */
import { isNoCommit } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName, GitFactsInput } from '@windlass/protocol'
import { unsupported, type ReadEvent } from './event.ts'

export interface Push {
  readonly repo: string
  readonly name: string
  readonly isTag: boolean
  /** Commits before and after. Absent or all zeros for a ref that begins or ends. */
  readonly before: string | undefined
  readonly after: string | undefined
  readonly sender?: string | undefined
  /** Changed files, if the forge names all of them. */
  readonly files: readonly string[] | 'unknown'
  readonly git: GitFactsInput
}

/** Returns the event of a push. A branch that ends is not a push, and a tag that ends starts nothing. */
export function pushEvent({ repo, name, isTag, before, after, sender, files, git }: Push): ReadEvent {
  const isEnd = isNoCommit(after)
  if (isEnd && isTag) return unsupported('deleted tag')
  const isStart = isNoCommit(before)
  return {
    names: namesOf({ isTag, isStart, isEnd }),
    repo,
    branch: name,
    ...defined({ revision: isEnd ? undefined : after, base: isStart ? undefined : before, sender }),
    // Forges report a start as no commit or as zeros.
    occurrence: isStart ? '' : (before ?? ''),
    files: isStart || isTag ? 'all' : files,
    git: { ...git, ...(isTag && { isTag: true }) },
  }
}

function namesOf({ isTag, isStart, isEnd }: Record<'isTag' | 'isStart' | 'isEnd', boolean>): [EventName, ...EventName[]] {
  if (isEnd) return ['push.deleteBranch']
  if (isTag) return ['push.tags', 'push']
  return isStart ? ['push.newBranch', 'push.heads', 'push'] : ['push.heads', 'push']
}

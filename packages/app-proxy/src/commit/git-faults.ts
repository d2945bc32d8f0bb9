/** What a command of git that failed means for its user. */
import { fault, hasCode, type Fault } from '@windlass/kit'
import { noAnswer } from '../forge/hosts.ts'

/**
 * Returns the fault of a failed command that called the Git server: `git-token-refused`, `forbidden`, `not-found`, `forge-unreachable`, or `git-refused` with the
 * message of the server.
 */
export function remoteFault(errors: string): Fault {
  const is = (pattern: RegExp): boolean => pattern.test(errors)
  if (is(/Authentication failed|could not read Username|error: 401/)) return fault('git-token-refused')
  if (is(/error: 403|Permission denied|not allowed to push/i))
    return fault('forbidden', {
      message: 'The Git server does not allow this to the owner of the Git token.',
      hint: 'Check the scopes of the token and your rights for the repository.',
      right: 'git-push',
    })
  if (is(/couldn't find remote ref|not our ref|no such remote ref/))
    return fault('not-found', { message: 'The repository does not have this branch or commit.', hint: 'Push it first.' })
  if (is(/epository .*not found|does not exist|does not appear to be a git repository|error: 404/))
    return fault('not-found', { message: 'The repository does not exist, or the Git token does not see it.' })
  if (is(UNREACHABLE)) return noAnswer('The Git server does not answer, or the connection broke.')
  return fault('git-refused', { message: `The Git server does not accept this: ${messageOf(errors)}` })
}

/** Messages of git and curl about the connection. */
const UNREACHABLE =
  /Could not resolve|ailed to connect|Couldn't connect|Connection |timed out|early EOF|RPC failed|unexpected disconnect|error: 5|Empty reply|hung up|SSL|TLS|too slow/i

/** Returns what the server says, on one line, without the addresses that git adds. */
export function messageOf(errors: string): string {
  const lines = errors.split('\n').flatMap((line) => /^remote: *(.*\S)/.exec(line)?.[1] ?? [])
  const found = (lines.length > 0 ? lines : errors.split('\n').filter((line) => line.trim() !== '')).join(' ')
  return found
    .replaceAll(/https?:\/\/\S+/g, '(URL)')
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 500)
}

/** Returns the fault of a repository that is larger than a commit here can be made of. `what` continues a sentence. */
export function tooLarge(what: string): Fault {
  return fault('file-too-large', { message: `The repository ${what}.`, hint: 'Use git for this repository.' })
}

export function storageFull(cause: unknown): Fault {
  return fault(
    'storage-full',
    {
      message: 'The disk on which the app-proxy makes commits is full.',
      hint: 'Free space in its folder for repositories (WINDLASS_APP_PROXY_REPOS_DIR), or use a larger volume.',
    },
    cause,
  )
}

/** Returns the fault of a command that does not start; other errors as they are. */
export function startFault(error: unknown): unknown {
  if (!hasCode(error, 'ENOENT')) return error
  return fault(
    'unavailable',
    {
      message: 'git is not installed in the app-proxy.',
      hint: 'Run the app-proxy with an image that has git 2.39 or later.',
    },
    error,
  )
}

/** Work trees of users of a forge, with real git. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GiteaUser } from '../support/gitea.ts'
import { runProgram } from '../support/process.ts'

export interface WorkTree extends AsyncDisposable {
  /** Runs git in the work tree as the user, and returns its output. */
  git(...args: string[]): Promise<string>
  /** Commits a file, and pushes the commit to a branch. Returns its hash. */
  push(branch: string, file: string, message?: string): Promise<string>
}

/** Clones a repository as a user, who is also the author of its commits. */
export async function cloneAs(user: GiteaUser, url: string): Promise<WorkTree> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-work-tree-'))
  const author = { GIT_AUTHOR_NAME: user.name, GIT_COMMITTER_NAME: user.name, EMAIL: `${user.name}@example.com` }
  const env = { ...process.env, ...author, ...user.gitEnv }
  const git = (...args: string[]): Promise<string> => runProgram('git', ['-C', folder, ...args], { env })
  await git('clone', '--quiet', url, '.')
  return {
    git,
    async push(branch, file, message = `Change ${file}`) {
      await writeFile(join(folder, file), `${Math.random()}\n`)
      await git('add', '--all')
      await git('commit', '--quiet', '--message', message)
      await git('push', '--quiet', 'origin', `HEAD:refs/heads/${branch}`)
      return git('rev-parse', 'HEAD')
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

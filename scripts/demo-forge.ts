/** The forge of `make up`: Gitea with the example application, and a work tree that pushes to it. */
import { existsSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startGitea, type Gitea, type GiteaUser } from '../e2e/support/gitea.ts'
import { canListen, freePort, runProgram } from '../e2e/support/process.ts'

export const REPO = 'demo/app'
/** Name of the Git context that `scripts/demo` connects. */
export const CONTEXT = 'demo'
const [OWNER, NAME] = REPO.split('/') as [string, string]
const DEFAULT_PORT = 3000

export interface ForgeOptions {
  readonly folder: string
  readonly host: string
  /** Folder with the first commit. */
  readonly application: string
}

/**
 * Starts the forge. Writes the work tree `app` to the folder, and to `forge`: `url`, `token` for `connect git`, and `password` for its pages. The
 * database is new at every start: the repository gets the branches of the work tree, which stays.
 */
export async function startForge({ folder, host, application }: ForgeOptions): Promise<{ url: string; close(): Promise<void> }> {
  const gitea = await startGitea({ host, port: (await canListen(DEFAULT_PORT)) ? DEFAULT_PORT : await freePort() })
  const owner = await gitea.addUser(OWNER)
  await owner.api('POST', '/user/repos', { name: NAME, private: false, default_branch: 'main' })
  await writeAccess(join(folder, 'forge'), gitea, owner)
  const url = `${gitea.url}/${REPO}.git`
  await pushTree({ tree: join(folder, 'app'), credentials: join(folder, 'forge/credentials'), url, application })
  return { url, close: gitea.close }
}

async function writeAccess(folder: string, gitea: Gitea, { name, password, token }: GiteaUser): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const write = (file: string, text: string): Promise<void> => writeFile(join(folder, file), `${text}\n`, { mode: 0o600 })
  await write('url', gitea.url)
  await write('token', token)
  await write('password', password)
  // The format of git's credential helper `store`.
  await write('credentials', gitea.url.replace('://', `://${name}:${token}@`))
}

interface Tree {
  readonly tree: string
  readonly credentials: string
  readonly url: string
  readonly application: string
}

/** Creates the work tree unless it exists, and pushes all of its branches. */
async function pushTree({ tree, credentials, url, application }: Tree): Promise<void> {
  const git = (...args: string[]): Promise<string> => runProgram('git', ['-C', tree, ...args])
  if (!existsSync(join(tree, '.git'))) {
    await cp(application, tree, { recursive: true })
    await git('init', '--quiet', '--initial-branch=main')
    await git('remote', 'add', 'origin', url)
    await git('config', 'credential.helper', `store --file='${credentials}'`)
    await git('config', 'push.autoSetupRemote', 'true')
    await setAuthor(git)
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'First commit')
  }
  await git('remote', 'set-url', 'origin', url)
  await git('push', '--quiet', '--all', '--set-upstream', 'origin')
}

/** Commits need an author. The one of the user is kept. */
async function setAuthor(git: (...args: string[]) => Promise<string>): Promise<void> {
  for (const [name, value] of [
    ['user.name', OWNER],
    ['user.email', `${OWNER}@example.com`],
  ] as const) {
    const known = await git('config', '--get', name).catch(() => '')
    if (known === '') await git('config', name, value)
  }
}

/** A machine that has Node 20, npm and Docker, and nothing of this clone. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { defined } from '@windlass/kit/defined'
import { removeLocalRuns } from '../support/local-runs.ts'
import { runProgram } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')

export interface Finished {
  readonly code: number
  readonly text: string
}

export interface BareMachine {
  readonly folder: string
  /** Installs the package in an archive, as a user does. Returns the folder that it is in. Throws if npm fails. */
  install(archive: string): Promise<string>
  /** Runs npm or a program of an installed package, without any variable but PATH and HOME. */
  run(program: string, words: readonly string[]): Promise<Finished>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens an empty folder as the home of a user with Node 20. */
export async function openBareMachine(): Promise<BareMachine> {
  const node = /NODE20=(\S+)/.exec(await runProgram(join(root, 'scripts/release/node20'), []))?.[1]
  if (node === undefined) throw new Error('scripts/release/node20 printed no path.')
  const npm = await runProgram('sh', ['-c', 'command -v npm'])
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bare-'))
  const work = join(folder, 'work')
  await mkdir(work)
  const prefix = join(folder, 'global')
  const PATH = [join(prefix, 'bin'), dirname(node), dirname(npm), '/usr/bin', '/bin'].join(delimiter)
  const env = { PATH, HOME: folder, ...defined({ DOCKER_HOST: process.env['DOCKER_HOST'] }) }
  const run: BareMachine['run'] = (program, words) =>
    new Promise((resolve) => {
      execFile(program, words, { env, cwd: work }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, text: stdout + stderr }),
      )
    })
  return {
    folder: work,
    run,
    async install(archive) {
      const { code, text } = await run('npm', ['install', '--offline', '--global', '--prefix', prefix, archive])
      if (code !== 0) throw new Error(`npm install ended with ${code}: ${text}`)
      return prefix
    },
    async [Symbol.asyncDispose]() {
      await removeLocalRuns(work)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

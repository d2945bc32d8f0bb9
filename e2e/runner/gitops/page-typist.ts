/** Types what a page tells its reader, with the names of this run: commands in a shell with an own home, and files. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { GiteaUser } from '../../support/gitea.ts'
import { kubernetesPrograms } from '../../support/cluster.ts'
import { runProgram } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { addressValues, type GitopsScene } from './scene.ts'

export interface TypistOptions {
  readonly scene: GitopsScene
  /** Address of the Service of the app-proxy: the cluster has no DNS, and this machine none for the domain of the tunnels. */
  readonly address: string
  /** Replaces the names of the page. */
  readonly local: (text: string) => string
  /** Words that a command of the page gets besides those of this run, by its first two words, such as `gitops cluster`. */
  readonly words?: Readonly<Record<string, string>>
  /** The reader at the forge, with a token in the file `git-token`. */
  readonly reader: GiteaUser
}

export interface Typist extends AsyncDisposable {
  /** Types the commands of a block in the folder in which the block before it has ended. Returns what they print. Throws with the block if one fails. */
  type(text: string): Promise<string>
  /** Writes a file of the page below the home. */
  write(path: string, text: string): Promise<void>
}

/** Commands that call the app-proxy. */
const OF_RUNTIME = ['integration', 'config', 'cluster', 'git-source', 'app']

export async function openTypist({ scene, address, local, words = {}, reader }: TypistOptions): Promise<Typist> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-guide-'))
  const [programs, home, state] = ['bin', 'home', 'state'].map((name) => join(folder, name)) as [string, string, string]
  await mkdir(programs)
  await mkdir(home)
  await writeFile(join(programs, 'windlass'), commandOf({ values: valuesOf(addressValues(scene, address)), address, words }))
  await chmod(join(programs, 'windlass'), 0o755)
  await writeFile(join(home, 'git-token'), reader.token)
  const author = { GIT_AUTHOR_NAME: 'Ann', GIT_COMMITTER_NAME: 'Ann', EMAIL: 'ann@example.com' }
  const env = {
    ...scene.environment,
    ...author,
    ...reader.gitEnv,
    HOME: home,
    STATE: state,
    PATH: `${programs}:${await kubernetesPrograms()}:${process.env['PATH'] ?? ''}`,
  }
  const here = async (): Promise<string> => (await readFile(state, 'utf8').catch(() => home)).trim()
  return {
    async type(text) {
      const script = `set -euo pipefail\ncd "${await here()}"\n${local(text)}\npwd >"$STATE"`
      return runProgram('bash', ['-c', script], { env }).catch((error: unknown) => {
        throw new Error(`The page says:\n${text}`, { cause: error })
      })
    },
    async write(path, text) {
      const at = join(await here(), path)
      await mkdir(dirname(at), { recursive: true })
      await writeFile(at, local(text))
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

interface Command extends Pick<TypistOptions, 'address'> {
  /** Words for the chart. */
  readonly values: string
  readonly words: Readonly<Record<string, string>>
}

/** Returns the command `windlass` of this run. */
function commandOf({ values, address, words }: Command): string {
  // The pod is ready before the node leads its address to it.
  const answers = `until (: </dev/tcp/${address}/3017) 2>/dev/null; do sleep 0.1; done`
  const more = Object.entries(words).map(([command, added]) => `  '${command}') set -- "$@" ${added} ;;`)
  const ofRuntime = OF_RUNTIME.map((name) => `'gitops ${name}'`).join(' | ')
  return `#!/bin/bash
case "$1 $2" in
${more.join('\n')}
esac
case "$1 $2" in
  'gitops install')
    ${WINDLASS} "$@" ${values} || exit
    exec timeout 60 bash -c '${answers}' ;;
  ${ofRuntime}) set -- "$@" --runtime-url http://${address}:3017 ;;
esac
exec ${WINDLASS} "$@"
`
}

/** Returns values as words: a page may name a file of its own. */
function valuesOf(values: object, path: readonly string[] = []): string {
  return Object.entries(values)
    .map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? valuesOf(value, [...path, name])
        : `--set-value '${[...path, name].join('.')}=${String(value)}'`,
    )
    .join(' ')
}

import { fault } from '@windlass/kit/faults'
import type { Build, BuildInput, Client } from '@windlass/protocol'
import { createBuild, restart } from '../api.ts'
import { toDebugInput } from '../debug/breaks.ts'
import type { Invocation, Values } from '../command.ts'
import type { runOptions } from '../commands/run.ts'
import { readInput, sourcesRead } from '../input-files.ts'
import { openSession } from '../session.ts'
import type { Settings } from '../config.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../variables.ts'
import { followToEnd } from './follow-to-end.ts'

type RunOptions = Values<typeof runOptions>

/** `run` against a server. */
export async function runOnServer(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const body = await toBuildInput(args[0], options, settings)
  const session = openSession(settings)
  const build = await createBuild(session.client, body)
  if (options.detach) {
    out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
    return 0
  }
  const file = options.file === '-' ? '<stdin>' : options.file
  return follow({ client: session.client, build, file }, invocation)
}

async function toBuildInput(pipeline: string | undefined, options: RunOptions, settings: Settings): Promise<BuildInput> {
  refuseLocalOptions(options)
  const file = options.file === undefined ? undefined : readInput(options.file)
  if (pipeline === undefined && file === undefined)
    throw fault('usage', {
      message: 'Which pipeline?',
      hint: 'Name a stored one (`windlass get pipelines`), or give a document with -f.',
    })
  const fromFiles = await Promise.all(options.varFile.map((path) => readVariableFile(path)))
  return {
    ...(pipeline !== undefined && { pipeline }),
    ...(file !== undefined && { document: file.text, file: file.name }),
    ...(options.branch !== undefined && { branch: options.branch }),
    ...(options.sha !== undefined && { revision: options.sha }),
    variables: Object.assign({}, ...fromFiles, parseVariables(options.variable, '-v')),
    secrets: parseSecrets(options.secret, settings.environment),
    contexts: [...options.context],
    ...(options.runtime !== undefined && { runtime: options.runtime }),
    noCache: options.noCache,
    resetVolume: options.resetVolume,
    ...toDebugInput(options),
  }
}

function refuseLocalOptions(options: RunOptions): void {
  const given = [
    options.source === undefined ? undefined : '--source',
    options.only.length === 0 ? undefined : '--only',
    options.skip.length === 0 ? undefined : '--skip',
    options.logLimit === undefined ? undefined : '--log-limit',
  ].find((name) => name !== undefined)
  if (given !== undefined)
    throw fault('usage', { message: `${given} goes with --local only.`, hint: 'Add --local, or leave it out.' })
}

interface RestartOptions {
  readonly debug: boolean
  readonly detach: boolean
  readonly output: 'json' | undefined
  readonly timestamps: boolean
}

/** `restart ID`. */
export async function restartBuild(invocation: Invocation<RestartOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const session = openSession(settings)
  const build = await restart(session.client, args[0] ?? '', options.debug ? { debug: {} } : {})
  if (!options.detach) return follow({ client: session.client, build }, invocation)
  out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
  return 0
}

function follow(
  begun: { client: Client; build: Build; file?: string | undefined },
  { options, out }: Invocation<RestartOptions>,
): Promise<number> {
  return followToEnd({
    ...begun,
    out,
    json: options.output === 'json',
    timestamps: options.timestamps,
    mayTerminate: true,
    sources: sourcesRead(),
  })
}

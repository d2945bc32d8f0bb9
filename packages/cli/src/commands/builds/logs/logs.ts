import { fault } from '@windlass/kit/faults'
import { stepStream } from '@windlass/protocol'
import type { Invocation } from '../../../command.ts'
import { EXIT } from '../../../exit-codes.ts'
import { textFor } from '../../../follow/line-splitter.ts'
import { showFeed } from '../../../follow/show-feed.ts'
import { requireBuildId } from '../../../input/build-id.ts'
import { openSession } from '../../../session/session.ts'
import { followToEnd } from '../follow-to-end.ts'
import { listStreams } from './list-streams.ts'
import { printLines } from './print-lines.ts'
import { printNewLines, printProblems } from './print-marks.ts'
import { saveLog } from './save-log.ts'
import { searchLog } from './search-log.ts'
import type { LogSource } from './source.ts'

export interface LogOptions {
  readonly follow: boolean
  readonly step: string | undefined
  readonly attempt: number | undefined
  readonly tail: number | undefined
  readonly timestamps: boolean
  readonly list: boolean
  readonly lines: string | undefined
  readonly search: string | undefined
  readonly regex: boolean
  readonly ignoreCase: boolean
  readonly problems: boolean
  readonly new: boolean
  readonly against: string | undefined
  readonly save: string | undefined
  readonly plain: boolean
}

/** Runs `logs ID`. */
export async function printLogs({ args, options, out, settings }: Invocation<LogOptions>): Promise<number> {
  requireCompatible(options)
  const { client } = openSession(settings)
  const build = await client.builds.get(requireBuildId(args[0] ?? ''))
  const { step, attempt } = options
  if (step !== undefined && !(build.steps ?? []).some(({ name }) => name === step))
    throw fault('not-found', {
      message: `Build ${build.id} has no step "${step}".`,
      hint: `Its steps are ${(build.steps ?? []).map(({ name }) => name).join(', ')}.`,
    })
  const source = { client, build, out, stream: step === undefined ? undefined : stepStream(step), attempt }
  if (options.list) await listStreams(source)
  else if (options.lines !== undefined) await printLines(source, options.lines)
  else if (options.search !== undefined) await searchLog(source, { ...options, search: options.search })
  else if (options.problems) await printProblems(source)
  else if (options.new) await printNewLines(source, options.against)
  else if (options.save !== undefined) await saveLog(source, { file: options.save, plain: options.plain })
  else return showLog(source, options)
  return EXIT.success
}

async function showLog({ client, build, out }: LogSource, options: LogOptions): Promise<number> {
  const { step, tail, timestamps } = options
  if (options.follow) return followToEnd({ client, build, out, step, timestamps, tail, mayTerminate: false })
  if (tail !== undefined && step !== undefined && !timestamps) {
    const text = await client.builds.log(build.id, { query: { stream: stepStream(step), tail } })
    // A file receives the raw bytes. On a terminal, a step must not move the cursor or write to the clipboard.
    out.stdout.write(textFor(out.stdout, text))
    return EXIT.success
  }
  const { signal } = new AbortController()
  await showFeed({ client, build, out, terminal: out.stdout, signal, follow: false, step, tail, timestamps })
  return EXIT.success
}

/** Throws `usage` for options that have no effect together. */
function requireCompatible(options: LogOptions): void {
  const given = (name: keyof LogOptions): boolean => options[name] !== undefined && options[name] !== false
  const modes = (['follow', 'list', 'lines', 'search', 'problems', 'new', 'save'] as const).filter(given)
  const [first, second] = modes
  if (first !== undefined && second !== undefined) throw conflict(`--${first}`, `--${second}`)
  for (const name of ['tail', 'timestamps'] as const)
    if (given(name) && first !== undefined && first !== 'follow') throw conflict(`--${name}`, `--${first}`)
  const needed = [
    ['regex', '--regex', ['search']],
    ['ignoreCase', '--ignore-case', ['search']],
    ['plain', '--plain', ['save']],
    ['against', '--against', ['new']],
    ['attempt', '--attempt', ['list', 'lines', 'search', 'problems', 'new', 'save']],
  ] as const
  for (const [name, flag, users] of needed) {
    if (!given(name) || users.some((user) => user === first)) continue
    throw fault('usage', { message: `${flag} needs ${users.map((user) => `--${user}`).join(' or ')}.` })
  }
  if (given('lines') && !given('step'))
    throw fault('usage', { message: '--lines needs --step, because lines are counted per step.' })
  if (given('list') && given('step')) throw conflict('--list', '--step')
}

function conflict(one: string, other: string): Error {
  return fault('usage', { message: `${one} and ${other} cannot be used together.` })
}

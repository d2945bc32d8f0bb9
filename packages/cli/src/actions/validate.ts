import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Invocation } from '../command.ts'
import { EXIT, exitCodeOf } from '../exit-codes.ts'
import type { Printer } from '../printer.ts'
import { findFiles } from '../validate/find-files.ts'
import { judgeFile, type Verdict } from '../validate/judge-file.ts'
import { printVerdicts, type Look, type ValidateFormat } from '../validate/print-verdicts.ts'
import { watchFiles } from '../validate/watch-files.ts'
import { catchInterrupts } from './interrupt.ts'

export interface ValidateOptions {
  readonly format: ValidateFormat | undefined
  readonly output: 'json' | undefined
  readonly watch: boolean
}

/** `validate FILE...`: all files are checked, whatever is wrong with the first ones. */
export async function validateFiles({ args, options, out, settings }: Invocation<ValidateOptions>): Promise<number> {
  const look: Look = { format: options.format ?? options.output ?? 'human', docsUrl: settings.docsUrl }
  const found = findFiles(args)
  if (options.watch && found.paths.includes('-'))
    throw fault('usage', { message: 'Standard input cannot be watched.', hint: 'Name files with --watch.' })
  const { verdicts, unreadable } = await judge(found.paths)
  printVerdicts(out, verdicts, look)
  const missing = [...found.missing.map((word) => `${word} does not exist.`), ...unreadable.map(({ message }) => message)]
  for (const message of missing) out.note(`${out.stderr.style.red('error:')} ${message}`)
  const status = statusOf(verdicts, unreadable)
  if (options.watch && found.paths.length > 0) return watchUntilInterrupted(out, { paths: found.paths, look, status })
  return found.missing.length > 0 ? EXIT.notFound : status
}

interface Judged {
  readonly verdicts: readonly Verdict[]
  readonly unreadable: readonly Error[]
}

async function judge(paths: readonly string[], how: { again?: boolean } = {}): Promise<Judged> {
  const verdicts: Verdict[] = []
  const unreadable: Error[] = []
  for (const path of paths) {
    try {
      verdicts.push(await judgeFile(path, how))
    } catch (error) {
      if (!isFault(error)) throw error
      unreadable.push(error)
    }
  }
  return { verdicts, unreadable }
}

/** A file that cannot be read weighs more than one that is not valid: nobody knows what is in it. */
function statusOf(verdicts: readonly Verdict[], unreadable: readonly Error[]): number {
  const [first] = unreadable
  if (first !== undefined) return exitCodeOf(first)
  return verdicts.every(({ valid }) => valid) ? EXIT.success : EXIT.failed
}

/** Checks files again as they are written; Ctrl-C ends with the status of the last check of all files. */
async function watchUntilInterrupted(
  out: Printer,
  { paths, look, status }: { paths: readonly string[]; look: Look; status: number },
): Promise<number> {
  using interrupts = catchInterrupts(systemClock)
  const last = new Map(paths.map((path) => [path, status]))
  out.note(out.stderr.style.dim('Watching. Ctrl-C ends.'))
  await watchFiles(paths, {
    clock: systemClock,
    signal: interrupts.first,
    onChange: async (changed) => {
      const time = new Date(systemClock.now()).toTimeString().slice(0, 8)
      out.note(out.stderr.style.dim(`${time} ${changed.join(', ')}`))
      for (const path of changed) {
        const { verdicts, unreadable } = await judge([path], { again: true })
        printVerdicts(out, verdicts, look)
        for (const { message } of unreadable) out.note(`${out.stderr.style.red('error:')} ${message}`)
        last.set(path, statusOf(verdicts, unreadable))
      }
    },
  })
  return Math.max(...last.values())
}

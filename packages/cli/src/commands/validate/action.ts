import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { EXIT, exitCodeOf } from '../../exit-codes.ts'
import type { Printer } from '../../printer.ts'
import { findFiles } from '../../validate/find-files.ts'
import { validateFile, type ValidateFileOptions, type Verdict } from '../../validate/validate-file.ts'
import { printVerdicts, type PrintOptions, type ValidateFormat } from '../../validate/print-verdicts.ts'
import { watchFiles } from '../../validate/watch-files.ts'
import { catchInterrupts } from '../run/interrupt.ts'

export interface ValidateOptions {
  readonly format: ValidateFormat | undefined
  readonly output: 'json' | undefined
  readonly watch: boolean
  readonly stepTypes: string | undefined
}

/** Runs `validate FILE...`. Checks all files even if the first ones are invalid. */
export async function validateFiles({ args, options, out, settings }: Invocation<ValidateOptions>): Promise<number> {
  const printOptions: PrintOptions = { format: options.format ?? options.output ?? 'human', docsUrl: settings.docsUrl }
  const found = findFiles(args)
  if (options.watch && found.paths.includes('-'))
    throw fault('usage', { message: 'Standard input cannot be watched.', hint: 'Name files with --watch.' })
  const { verdicts, unreadable } = await validateAll(found.paths, { stepTypes: options.stepTypes })
  printVerdicts(out, verdicts, printOptions)
  const missing = [...found.missing.map((word) => `${word} does not exist.`), ...unreadable.map(({ message }) => message)]
  for (const message of missing) out.note(`${out.stderr.style.red('error:')} ${message}`)
  const status = statusOf(verdicts, unreadable)
  if (options.watch && found.paths.length > 0) {
    const { stepTypes } = options
    return watchUntilInterrupted(out, { paths: found.paths, printOptions, status, stepTypes })
  }
  return found.missing.length > 0 ? EXIT.notFound : status
}

interface Results {
  readonly verdicts: readonly Verdict[]
  readonly unreadable: readonly Error[]
}

async function validateAll(paths: readonly string[], how: ValidateFileOptions): Promise<Results> {
  const verdicts: Verdict[] = []
  const unreadable: Error[] = []
  for (const path of paths) {
    try {
      verdicts.push(await validateFile(path, how))
    } catch (error) {
      if (!isFault(error)) throw error
      unreadable.push(error)
    }
  }
  return { verdicts, unreadable }
}

/** Returns the exit code. An unreadable file takes precedence over an invalid one. */
function statusOf(verdicts: readonly Verdict[], unreadable: readonly Error[]): number {
  const [first] = unreadable
  if (first !== undefined) return exitCodeOf(first)
  return verdicts.every(({ valid }) => valid) ? EXIT.success : EXIT.failed
}

interface Watching {
  readonly paths: readonly string[]
  readonly printOptions: PrintOptions
  readonly status: number
  readonly stepTypes: string | undefined
}

/** Checks files again when they change. Ctrl-C ends with the worst of the latest results. */
async function watchUntilInterrupted(out: Printer, { paths, printOptions, status, stepTypes }: Watching): Promise<number> {
  using interrupts = catchInterrupts(systemClock)
  const last = new Map(paths.map((path) => [path, status]))
  const watching = watchFiles(paths, {
    clock: systemClock,
    signal: interrupts.first,
    onChange: async (changed) => {
      const time = new Date(systemClock.now()).toTimeString().slice(0, 8)
      out.note(out.stderr.style.dim(`${time} ${changed.join(', ')}`))
      for (const path of changed) {
        const { verdicts, unreadable } = await validateAll([path], { again: true, stepTypes })
        printVerdicts(out, verdicts, printOptions)
        for (const { message } of unreadable) out.note(`${out.stderr.style.red('error:')} ${message}`)
        last.set(path, statusOf(verdicts, unreadable))
      }
    },
  })
  // After the start of the watch: a user may change a file as soon as the message is shown.
  out.note(out.stderr.style.dim('Watching for changes. Press Ctrl-C to stop.'))
  await watching
  return Math.max(...last.values())
}

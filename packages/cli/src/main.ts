/** Entry of the `windlass` command. Everything a command does not need is loaded only by the command that does. */
import { enableCompileCache } from 'node:module'

enableCompileCache()
const [{ reportError, runCommandLine }, { openPrinter }, { readSettings, takeGlobalOptions }] = await Promise.all([
  import('./program.ts'),
  import('./printer.ts'),
  import('./config.ts'),
])
const { words, globals } = takeGlobalOptions(process.argv.slice(2))
const settings = readSettings(undefined, globals)
const context = { settings, out: openPrinter(settings) }
process.on('uncaughtException', (error) => process.exit(reportError(error, context)))
const exitCode = await runCommandLine(words, context)
await Promise.all([context.out.stdout.drained(), context.out.stderr.drained()])
process.exit(exitCode)

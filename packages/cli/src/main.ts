/** Entry point of the `windlass` command. Each command loads its own modules on demand, which keeps the start fast. */
import { keepCompiledCode } from './compile-cache.ts'

keepCompiledCode(process.env)
const [{ reportError, runCommandLine }, { openPrinter }, { readSettings, takeGlobalOptions }] = await Promise.all([
  import('./program.ts'),
  import('./printer.ts'),
  import('./config.ts'),
])
const { argv, globals } = takeGlobalOptions(process.argv.slice(2))
const settings = readSettings(undefined, globals)
const context = { settings, out: openPrinter(settings) }
process.on('uncaughtException', (error) => process.exit(reportError(error, context)))
const exitCode = await runCommandLine(argv, context)
await Promise.all([context.out.stdout.drained(), context.out.stderr.drained()])
process.exit(exitCode)

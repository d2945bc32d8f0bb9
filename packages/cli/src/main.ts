/** Entry of the `windlass` command. Everything a command does not need is loaded only by the command that does. */
import { enableCompileCache } from 'node:module'

enableCompileCache()
const [{ runCommandLine }, { openPrinter }, { readSettings }] = await Promise.all([
  import('./program.ts'),
  import('./printer.ts'),
  import('./config.ts'),
])
const settings = readSettings()
process.exit(await runCommandLine(process.argv.slice(2), { settings, out: openPrinter(settings) }))

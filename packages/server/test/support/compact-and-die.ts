/** Script `compact-and-die.ts DATA_DIR NOW CALL NTH`: merges logs and kills itself right before the nth call of CALL. */
import { flushCompileCache } from 'node:module'
import { manualClock, silentLog } from '@windlass/kit'
import { compactDue } from '../../src/logs/objects/compact.ts'
import { openApp } from '../../src/open-app.ts'

const [dataDir = '', now = '', call = '', nth = ''] = process.argv.slice(2)
const { app } = await openApp(
  { dataDir, log: silentLog, clock: manualClock(Number(now)), time: 'process', startsLoops: false },
  () => 'http://server.test',
)
// Node does not write the code that it has compiled when it is killed, and the next process would compile all of it again.
flushCompileCache()
const target: object = call === 'write' ? app.store : app.logs.objects
const original: unknown = Reflect.get(target, call)
if (typeof original !== 'function') throw new Error(`unknown call ${call}`)
let calls = 0
Object.assign(target, {
  [call](...parameters: unknown[]): unknown {
    calls += 1
    if (calls === Number(nth)) process.kill(process.pid, 'SIGKILL')
    return Reflect.apply(original, target, parameters)
  },
})
await compactDue(app)
throw new Error(`${call} was called ${calls} times`)

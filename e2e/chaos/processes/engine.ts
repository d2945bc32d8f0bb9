/** An engine as a process that can be killed: `node engine.ts '<EngineOptions as JSON>'`. Its exit code is that of the engine of a pod. */
import { startEngine, type EngineOptions } from '@windlass/engine'
import { openLog, systemClock } from '@windlass/kit'

// Written by the test that starts this process.
const options = JSON.parse(process.argv[2] ?? '{}') as Omit<EngineOptions, 'clock' | 'log'>
const log = openLog({ level: 'info', name: 'engine' })
const engine = startEngine({ ...options, clock: systemClock, log })
console.log(JSON.stringify(await engine.ended))

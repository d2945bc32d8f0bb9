/**
 * A control plane as a process that can be killed: `node server.ts '<ServerOptions as JSON, and skewMs>'`. Its clock is `skewMs` ahead. Prints `ready
 * <url>`.
 */
import { flushCompileCache } from 'node:module'
import { openLog, systemClock } from '@windlass/kit'
import { startServer, type ServerOptions } from '@windlass/server'

// Written by the driver that starts this process.
const { skewMs = 0, ...options } = JSON.parse(process.argv[2] ?? '{}') as ServerOptions & { skewMs?: number }
const clock = { ...systemClock, now: () => systemClock.now() + skewMs }
const server = await startServer({ ...options, clock, log: openLog({ level: 'info', name: 'server' }) })
console.log(`ready ${server.url}`)
// A run kills it, and Node keeps its compiled code only when a process exits by itself. The next start would compile all of it again.
flushCompileCache()

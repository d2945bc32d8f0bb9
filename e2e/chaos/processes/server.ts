/** A control plane as a process that can be killed: `node server.ts '<ServerOptions as JSON>'`. Prints `ready <url>`. */
import { openLog } from '@windlass/kit'
import { startServer, type ServerOptions } from '@windlass/server'

// Written by the driver that starts this process.
const options = JSON.parse(process.argv[2] ?? '{}') as ServerOptions
const server = await startServer({ ...options, log: openLog({ level: 'info', name: 'server' }) })
console.log(`ready ${server.url}`)

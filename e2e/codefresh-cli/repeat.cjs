/**
 * Runs command lines of Codefresh one after the other in this process, whose files stay as they are. A process of its own loads two thousand files for each
 * command; this one loads those of packages once. The files of the client, and of what reads the command line, are loaded again for each command.
 */
'use strict'
require('./defer.cjs')

const LOADED_AGAIN = /\/node_modules\/(?:codefresh|codefresh-sdk|yargs)\//
const FAULTS = ['uncaughtException', 'unhandledRejection']
const program = process.argv[2]
const exit = process.exit.bind(process)

/** The command that runs, with its output so far. */
let current

function begin({ words, env }) {
  current = { stdout: '', stderr: '', hasEnded: false }
  process.argv = [process.argv[0], program, ...words]
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = undefined
  for (const name of FAULTS) process.removeAllListeners(name)
  for (const file of Object.keys(require.cache)) if (LOADED_AGAIN.test(file)) delete require.cache[file]
  // Without it, the process has nothing to wait for when the command has nothing left to do.
  process.channel.unref()
  require(program)
}

/** Reports the end of the command. What it prints afterwards is lost, as with a process that has exited. */
function end(code) {
  if (current.hasEnded) return
  current.hasEnded = true
  process.send({ code, stdout: current.stdout, stderr: current.stderr })
}

for (const name of ['stdout', 'stderr'])
  process[name].write = (part, ...more) => {
    if (current?.hasEnded === false) current[name] += part
    more.findLast((each) => typeof each === 'function')?.()
    return true
  }

process.exit = (code) => {
  end(code ?? process.exitCode ?? 0)
  for (const name of FAULTS) process.removeAllListeners(name).on(name, () => undefined)
  // Nothing of the command runs after it.
  throw new Error('the command has exited')
}

process.on('beforeExit', () => {
  if (current === undefined) return
  end(process.exitCode ?? 0)
  current = undefined
  process.channel.ref()
  process.send('idle')
})
process.on('message', begin)
process.once('disconnect', () => exit())

/** `node:sqlite` where Node has it. Its first use on an older Node says what is missing. */
import { fault } from '@windlass/kit/faults'

class MissingDatabase {
  constructor() {
    throw fault('config-invalid', {
      message: `Node ${process.versions.node} has no SQLite, in which the server keeps its data.`,
      hint: 'Use Node 24 or later for this command, or run the server in a cluster.',
    })
  }
}

/** Copies a database. Node 20 has neither. */
export const backup =
  process.getBuiltinModule('node:sqlite')?.backup ??
  (() => {
    throw new MissingDatabase()
  })

export const DatabaseSync = process.getBuiltinModule('node:sqlite')?.DatabaseSync ?? MissingDatabase

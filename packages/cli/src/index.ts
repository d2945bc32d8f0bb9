export { completionScript } from './commands/completion/scripts.ts'
export { describeCommands } from './manual/describe-commands.ts'
export { describeManual } from './manual/describe-manual.ts'
export { describeRights } from './runner/acceptance/rights.ts'

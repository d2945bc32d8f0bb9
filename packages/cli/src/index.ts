export { completionScript } from './commands/completion/scripts.ts'
export { describeCommands } from './describe-commands.ts'
export { describeManual } from './describe-manual.ts'
export { describeRights } from './runner/acceptance/rights.ts'

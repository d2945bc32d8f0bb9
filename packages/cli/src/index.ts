export { describeCommands } from './describe-commands.ts'

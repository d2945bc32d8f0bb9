/** Commands for existing builds. */
import { BUILD_STATUSES } from '@windlass/plan'
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'

const ONE = [{ name: '<build>', summary: 'Id of a build' }]
const MANY = [{ name: '<build...>', summary: 'Ids of builds' }]

export const buildCommands = [
  command('logs', {
    summary: 'Print the log of a build',
    about:
      'With -f the log is followed to its end, across restarts of the server, and the exit code is that of the build. --list, --lines, --search, ' +
      '--problems, --new and --save read parts of a log of any size. Lines are counted from 1 in each step. A search ignores colors, and text that was overwritten ' +
      'by carriage returns. Regular expressions have the syntax of JavaScript, without back-references and look-around.',
    arguments: ONE,
    options: {
      follow: flag('-f, --follow', 'Follow the log until the build ends'),
      step: text('--step <name>', 'Print only this step'),
      tail: integer('--tail <lines>', 'Print only the last lines'),
      timestamps: flag('--timestamps', 'Prefix each line with its time'),
      list: flag('--list', 'Print the number of lines and the size of the log of each step'),
      lines: text('--lines <range>', 'Print these lines of --step: 20, 100-200, or 100- to the end'),
      search: text('--search <text>', 'Print the lines that contain a text'),
      regex: flag('--regex', 'With --search: the text is a regular expression'),
      ignoreCase: flag('-i, --ignore-case', 'With --search: do not distinguish upper and lower case'),
      problems: flag('--problems', 'Print the lines with which compilers, test runners and other tools report a failure'),
      new: flag(
        '--new',
        'Print the lines of --step (default: the failed step) that the last successful build of the branch lacks',
      ),
      against: text('--against <build>', 'With --new: compare with this build'),
      save: text('--save <file>', 'Write the log to a file, compressed if its name ends with .gz'),
      plain: flag('--plain', 'With --save: leave out colors and overwritten text'),
      attempt: integer('--attempt <number>', 'With --list, --lines, --search, --problems, --new or --save: read this attempt'),
    },
    examples: [
      'windlass logs -f 65f0c1d2a3b4c5d6e7f80912',
      'windlass logs 65f0c1d2a3b4c5d6e7f80912 --step unit_tests --tail 50',
      'windlass logs 65f0c1d2a3b4c5d6e7f80912 --step unit_tests --lines 800-820',
      'windlass logs 65f0c1d2a3b4c5d6e7f80912 --problems',
      'windlass logs 65f0c1d2a3b4c5d6e7f80912 --new',
      'windlass logs 65f0c1d2a3b4c5d6e7f80912 --search "expected .* to be" --regex',
    ],
    run: async (invocation) => (await import('./logs/logs.ts')).printLogs(invocation),
  }),
  command('wait', {
    summary: 'Wait until builds end',
    about:
      'The exit code is the worst of the builds. With --status it is 0 when every build has that status, and 1 if one ends with ' +
      'another status.',
    arguments: MANY,
    options: {
      status: oneOf('-s, --status <status>', 'Wait for this status instead of the end', BUILD_STATUSES),
      timeout: integer('--timeout <seconds>', 'Give up after this time'),
      output: oneOf('-o, --output <format>', 'Print the final records on standard output', ['json']),
    },
    run: async (invocation) => (await import('./wait.ts')).waitForBuilds(invocation),
  }),
  command('terminate', {
    summary: 'Stop builds',
    about: 'Running steps receive TERM, and KILL after a grace period. The build is terminated when they are gone.',
    arguments: MANY,
    options: { wait: flag('--wait', 'Wait until they end') },
    run: async (invocation) => (await import('./terminate.ts')).terminateBuilds(invocation),
  }),
  command('confirm-gone', {
    summary: 'Confirm that nothing of a lost attempt still runs, because its cluster was destroyed',
    about:
      'A build whose attempt was lost runs again when its agent confirms that the old pods are gone. If the cluster was destroyed, no agent ' +
      'can, and an admin confirms it instead. Make sure first that nothing of it still runs: two attempts at once may deploy twice.',
    arguments: ONE,
    options: { attempt: integer('--attempt <number>', 'Number of the attempt (default: the latest)') },
    examples: ['windlass confirm-gone 65f0c1d2a3b4c5d6e7f80912'],
    run: async (invocation) => (await import('./confirm-gone.ts')).confirmAttemptGone(invocation),
  }),
  command('restart', {
    summary: 'Run a build again with the same document, variables and commit',
    about:
      'Runs from the beginning, or with --from-failed or --from from a later step: then results, images and exported variables of the ' +
      'earlier steps are reused, on the same disk if it still exists. Several builds are restarted without waiting for them.',
    examples: [
      'windlass restart 65f0c1d2a3b4c5d6e7f80912 --from-failed',
      'windlass restart 65f0c1d2a3b4c5d6e7f80912 --from deploy -v TARGET=staging',
      'windlass restart 65f0c1d2a3b4c5d6e7f80912 65f0c1d2a3b4c5d6e7f80913 --from-failed',
    ],
    arguments: MANY,
    options: {
      fromFailed: flag('--from-failed', 'Start at the failed steps and reuse the results of the others'),
      from: text('--from <step>', 'Start at this step and reuse the results of earlier steps'),
      variable: texts('-v, --variable <name=value>', 'Override a variable; repeatable'),
      secret: texts('-S, --secret <name=value>', 'Override a masked variable; NAME alone reads it from the environment'),
      debug: flag('--debug', 'Stop at the breakpoints of the document, and at --break and --on-failure'),
      break: texts('--break <step:phase>', 'Set a breakpoint; phase: before, override, after or failure; repeatable'),
      onFailure: flag('--on-failure', 'Hold every step that fails'),
      detach: flag('-d, --detach', 'Print the id of the new build without waiting for it'),
      output: oneOf('-o, --output <format>', 'Print the final record on standard output, the log on standard error', ['json']),
      timestamps: flag('--timestamps', 'Prefix each line with its time'),
    },
    run: async (invocation) => (await import('../run/on-server.ts')).restartBuild(invocation),
  }),
]

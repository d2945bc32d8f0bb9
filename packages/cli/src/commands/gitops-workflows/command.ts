/** Commands for the workflows of a GitOps runtime. They call the runtime itself, which changes them in its cluster. */
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const workflow = [...runtime, { name: '<name>', summary: 'Name of the workflow' }]
const url = { runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)') }
const output = { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) }
const waiting = {
  wait: flag('--wait', 'Wait until the workflow ends; exit code 1 if it does not succeed'),
  timeout: integer('--timeout <seconds>', 'Time to wait, in seconds (default: 3600)'),
}
const parameter = texts('-p, --parameter <name=value>', 'Value of a parameter; can be repeated')

const reading = [
  command('gitops workflow list', {
    summary: 'List the workflows of a GitOps runtime, newest first',
    arguments: runtime,
    options: {
      phase: oneOf('--phase <phase>', 'Only those in this phase', ['pending', 'running', 'succeeded', 'failed', 'error']),
      template: text('--template <name>', 'Only those of this template'),
      limit: integer('--limit <count>', 'Number of workflows (default: 100)'),
      ...url,
      ...output,
    },
    examples: ['windlass gitops workflow list prod --phase failed'],
    run: async (invocation) => (await import('./show.ts')).listWorkflows(invocation),
  }),
  command('gitops workflow get', {
    summary: 'Show a workflow: its phase, parameters, locks and nodes',
    arguments: workflow,
    options: { ...url, ...output },
    examples: ['windlass gitops workflow get prod build-x7k2p'],
    run: async (invocation) => (await import('./show.ts')).getWorkflow(invocation),
  }),
  command('gitops workflow logs', {
    summary: 'Show the logs of the pods of a workflow',
    about: 'Logs of deleted pods come from the archive, if the runtime has one: they have no times, and cannot be followed.',
    arguments: [...workflow, { name: '[pod]', summary: 'Name of a pod, or the id of its node (default: all)' }],
    options: {
      container: text('-c, --container <name>', 'Container (default: main)'),
      tail: integer('--tail <lines>', 'Number of lines from the end (default: 500)'),
      since: integer('--since <seconds>', 'Show only lines that are not older'),
      follow: flag('-f, --follow', 'Show new lines until Ctrl-C; needs a pod if the workflow has several'),
      timestamps: flag('--timestamps', 'Show the time of each line'),
      ...url,
    },
    examples: [
      'windlass gitops workflow logs prod build-x7k2p',
      'windlass gitops workflow logs prod build-x7k2p build-x7k2p-compile-1234567890 -f',
    ],
    run: async (invocation) => (await import('./logs.ts')).showWorkflowLogs(invocation),
  }),
]

const operations = [
  command('gitops workflow submit', {
    summary: 'Submit a workflow of a template, or that of a file',
    about: 'A workflow of a file needs the right manage-gitops, because it can use every account of the namespace.',
    arguments: [...runtime, { name: '[template]', summary: 'WorkflowTemplate in the namespace of the runtime' }],
    options: {
      file: text('-f, --file <path>', 'Manifest of a workflow instead of a template; - is standard input'),
      parameter,
      ...waiting,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops workflow submit prod build -p revision=main --wait',
      'windlass gitops workflow submit prod -f workflow.yaml',
    ],
    run: async (invocation) => (await import('./operations.ts')).submitWorkflow(invocation),
  }),
  command('gitops workflow retry', {
    summary: 'Run what failed in a workflow again; what succeeded does not run twice',
    arguments: workflow,
    options: { ...waiting, ...url, ...output },
    examples: ['windlass gitops workflow retry prod build-x7k2p --wait'],
    run: async (invocation) => (await import('./operations.ts')).retryWorkflow(invocation),
  }),
  command('gitops workflow resubmit', {
    summary: 'Submit a workflow once more, from its beginning',
    arguments: workflow,
    options: { parameter, ...waiting, ...url, ...output },
    examples: ['windlass gitops workflow resubmit prod build-x7k2p -p revision=main'],
    run: async (invocation) => (await import('./operations.ts')).resubmitWorkflow(invocation),
  }),
  command('gitops workflow stop', {
    summary: 'End a workflow, and run its exit handler',
    arguments: workflow,
    options: { ...url, ...output },
    examples: ['windlass gitops workflow stop prod build-x7k2p'],
    run: async (invocation) => (await import('./operations.ts')).stopWorkflow(invocation),
  }),
  command('gitops workflow terminate', {
    summary: 'End a workflow at once, without its exit handler',
    arguments: workflow,
    options: { ...url, ...output },
    examples: ['windlass gitops workflow terminate prod build-x7k2p'],
    run: async (invocation) => (await import('./operations.ts')).terminateWorkflow(invocation),
  }),
  command('gitops workflow delete', {
    summary: 'Delete a workflow with its pods',
    arguments: workflow,
    options: {
      force: flag('--force', 'Delete it without what Argo Workflows does first, such as the deletion of its artifacts'),
      yes: flag('-y, --yes', 'Do not ask'),
      ...url,
    },
    examples: ['windlass gitops workflow delete prod build-x7k2p --yes'],
    run: async (invocation) => (await import('./operations.ts')).deleteWorkflow(invocation),
  }),
]

export const gitopsWorkflowCommands = [...reading, ...operations]

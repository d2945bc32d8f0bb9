/** Commands for annotations. */
import { ANNOTATED_ENTITIES } from '@windlass/plan'
import { command, oneOf, text } from '../../command.ts'

const format = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])
const entityArguments = [
  { name: '<entity>', summary: 'Kind of the entity', choices: ANNOTATED_ENTITIES },
  { name: '<name>', summary: 'Name or id of the entity' },
]

export const annotationCommands = [
  command('annotate', {
    summary: 'Set or remove annotations of a build, pipeline, project or image',
    about:
      'NAME=VALUE sets an annotation: true and false are booleans, digits are numbers, everything else is text. NAME- removes it.',
    arguments: [...entityArguments, { name: '<change...>', summary: 'NAME=VALUE, or NAME- to remove it' }],
    options: { display: text('--display <name>', 'Annotation to show in lists of builds'), output: format },
    examples: [
      'windlass annotate build 65f0c1d2a3b4c5d6e7f80912 coverage=85 --display coverage',
      'windlass annotate pipeline demo/app owner-',
    ],
    run: async (invocation) => (await import('./action.ts')).annotate(invocation),
  }),
  command('get annotations', {
    summary: 'Show the annotations of a build, pipeline, project or image',
    arguments: entityArguments,
    options: { output: format },
    run: async (invocation) => (await import('./action.ts')).showAnnotations(invocation),
  }),
]

/** Documents of every category that the language accepts and rejects, by what they show. */

function steps(...lines: string[]): string {
  return ["version: '1.0'", 'steps:', ...lines.map((line) => `  ${line}`), ''].join('\n')
}

function root(...lines: string[]): string {
  return ["version: '1.0'", ...lines, 'steps:', '  one: { image: x }', '  two: { image: x }', ''].join('\n')
}

function hook(value: string): string {
  return steps('one:', '  image: x', `  hooks: { on_success: ${value} }`)
}

function when(value: string): string {
  return steps('one: { image: x }', `two: { image: x, when: ${value} }`)
}

export const ACCEPTED: Readonly<Record<string, string>> = {
  'an empty pipeline': steps().replace('steps:', 'steps: {}'),
  'a parallel step': steps('p: { type: parallel, steps: { a: { image: x }, b: { type: build, image_name: y } } }'),
  'parallel steps in parallel steps': steps(
    'p: { type: parallel, steps: { q: { type: parallel, steps: { a: { image: x } } } } }',
  ),
  'a parallel step with everything': steps(
    'p:',
    '  type: parallel',
    '  title: All',
    '  fail_fast: false',
    '  strict_fail_fast: true',
    '  timeout: 5m',
    '  retry: { maxAttempts: 2 }',
    '  when: { branch: { only: [main] } }',
    '  hooks: { on_finish: [echo done] }',
    '  success_criteria: { steps: { only: [a], ignore: [b] }, condition: { any: { ok: "steps.a.result == \'success\'" } } }',
    '  steps: { a: { image: x }, b: { image: x } }',
  ),
  'fields of a child inside arguments': steps(
    'p: { type: parallel, steps: { a: { type: build, arguments: { image_name: x } } } }',
  ),
  'an ID token': steps(
    'a: { type: obtain-oidc-id-token }',
    'b: { type: obtain-oidc-id-token, arguments: { AUDIENCE: sts.amazonaws.com } }',
  ),
  'an approval': steps('ok: { type: pending-approval }'),
  'an approval with a time limit': steps(
    'ok: { type: pending-approval, timeout: { duration: 3, timeUnit: minutes, finalState: approved } }',
  ),
  'root mode parallel': root('mode: parallel'),
  'root success criteria as a list': root('success_criteria: { steps: [one] }'),
  'root success criteria: only': root('success_criteria: { steps: { only: [one] } }'),
  'root success criteria: ignore': root('success_criteria: { steps: { ignore: [two] } }'),
  'root success criteria: a condition': root('success_criteria: { condition: { all: { a: steps.one.result == "success" } } }'),
  'root fail_fast as a variable': root("fail_fast: '${{FF}}'", "strict_fail_fast: '${{SFF}}'"),
  'root fail_fast as any text': root('fail_fast: whatever'),
  'root fail_fast as an object': root('fail_fast: { a: 1 }'),
  'root fail_fast in older spellings': root('failFast: false', 'strictFailFast: true'),
  indicators: root('indicators: [&a { image: y }, 5]'),
  'build_version v2': root('build_version: v2'),
  'root hooks of every moment': root(
    'hooks: { on_elected: [a], on_success: { exec: [b] }, on_fail: { exec: { image: c, commands: [d] } }, on_finish: { image: e } }',
  ),
  'root hooks of several steps': root(
    'hooks: { on_finish: { mode: parallel, fail_fast: false, strict_fail_fast: true, steps: { a: { image: x }, b: { type: git-clone, repo: c/d } } } }',
  ),
  'root services': root('services: { name: db, version: 3.0, composition: { pg: { image: postgres, ports: [5432] } } }'),
  'root services with all that they may have': root(
    'services:',
    '  name: db',
    '  composition: ./compose.yml',
    '  composition_variables: { A: 1 }',
    '  shared_host_network: true',
    '  readiness: { image: pg, commands: [pg_isready], periodSeconds: 1, timeoutSeconds: 2, successThreshold: 1, failureThreshold: 5 }',
    '  setup: { image: pg, commands: [psql] }',
  ),
  'hook: a list': hook('[echo a, echo b]'),
  'hook: exec with a list': hook('{ exec: [echo a] }'),
  'hook: exec with a step': hook('{ exec: { image: x, commands: [a] } }'),
  'hook: exec with several steps': hook('{ exec: { steps: { a: { image: x } } } }'),
  'hook: a plain step': hook('{ image: x, commands: [a] }'),
  'hook: a build step': hook('{ type: build, image_name: x }'),
  'hook: several steps': hook('{ steps: { a: { image: x }, b: { image: y } }, mode: sequential, fail_fast: true }'),
  'hook: metadata alone': hook(
    "{ metadata: { set: [{ '${{one.imageId}}': [{ A: true }, B, { C: 85% }, { D: { evaluate: '1 == 1' } }] }] } }",
  ),
  'hook: annotations alone': hook(
    '{ annotations: { set: [{ entity_id: x, entity_type: image, annotations: [A, { B: 1 }, { C: { evaluate: "1 + 1" } }] }], unset: [{ annotations: [D] }] } }',
  ),
  'hook: annotations with display': hook('{ annotations: { set: [{ annotations: [{ A: x }], display: A }] } }'),
  'hook: exec with annotations': hook('{ exec: [a], annotations: { set: [{ entity_type: workflow, annotations: [A] }] } }'),
  'metadata and annotations after a step, as older documents have them': steps(
    'one:',
    '  image: x',
    "  on_success: { metadata: { set: [{ '${{one.imageId}}': [{ A: true }] }] } }",
    '  on_fail: { annotations: { set: [{ annotations: [{ A: 1 }] }] } }',
    '  on_finish: { annotations: { unset: [{ annotations: [A] }] } }',
  ),
  'when.steps as a list': when('{ steps: [{ name: one, on: [success, failure] }] }'),
  'when.steps with all': when('{ steps: { all: [{ name: one }] } }'),
  'when.steps with any': when('{ steps: { any: [{ name: one, on: [finished] }] } }'),
  'when with all its parts': when(
    "{ branch: { only: [/^rel/i], ignore: [main] }, condition: { all: { a: '1 == 1' }, any: { b_2: '2 == 2' } }, steps: [{ name: one }] }",
  ),
  'a scale': steps('one: { image: x, environment: [A=1], scale: { a: { environment: [B=1] }, b: { commands: [c] }, c: {} } }'),
  'a matrix over the image': steps('one: { matrix: { image: [a, b], environment: [[A=1], [A=2, B=3]] } }'),
  'a matrix of builds': steps('one: { type: build, image_name: x, matrix: { target: [a, b] } }'),
  'a scale of clones': steps('one: { type: git-clone, scale: { a: { repo: a/b }, b: { repo: c/d } } }'),
  'a matrix in root mode parallel': `mode: parallel\n${steps('one: { type: push, candidate: x, matrix: { tag: [a, b] } }')}`,
  'no retry': steps('one: { image: x, retry: {} }'),
  timeouts: steps(
    ...['90s', '1.5h', '.5h', '1.m', '0s', '0h', 'null'].map((timeout, n) => `s${n}: { image: x, timeout: ${timeout} }`),
  ),
  breakpoints: steps('one: { image: x, debug: { phases: { before: true, override: true, after: false } } }'),
  'an environment record': steps(
    'one: { image: x, env: { name: prod, type: helm-release, change: abc, endpoints: [{ name: app, url: http://a }], filters: [{ cluster: c, namespace: n, releaseName: r, selectors: [{ a: b }] }] } }',
  ),
  docker_machine: steps(
    'one: { image: x, docker_machine: { create: { provider: p } } }',
    'two: { image: x, docker_machine: { use: { node: n } } }',
  ),
  'step services': steps('one: { image: x, services: { composition: { db: { image: y } } } }'),
}

export const REJECTED: Readonly<Record<string, { readonly text: string; readonly messages: readonly string[] }>> = {
  'no version': { text: 'steps: {}\n', messages: ['"version" is required'] },
  'no steps': { text: 'version: 1\n', messages: ['"steps" is required'] },
  'an unknown root key': { text: root('foo: 1'), messages: ['"foo" is not allowed'] },
  'an unknown version': {
    text: root().replace('1.0', '3.1'),
    messages: ['Current version: 3.1 is invalid. please change version to 1.0'],
  },
  'an unknown moment': {
    text: root('hooks: { on_something: [a] }'),
    messages: ['"on_something" is not allowed'],
  },
  'a hook that is a string': { text: hook('echo'), messages: ['"on_success" must be a list of commands or an object'] },
  'an empty hook of several steps': { text: hook('{ steps: {} }'), messages: ['"steps" must contain at least 1 entries'] },
  'a type next to the steps of a hook': {
    text: hook('{ exec: { steps: { a: { image: x } }, type: freestyle } }'),
    messages: ['"type" is not allowed'],
  },
  'annotations next to the fields of a step': {
    text: hook('{ image: x, annotations: { set: [] } }'),
    messages: ['"annotations" is not allowed next to the fields of a step'],
  },
  'the singular annotation': {
    text: hook('{ annotation: {} }'),
    messages: ['"annotation" is not allowed. Did you mean "annotations"?'],
  },
  'an unknown operation on annotations': {
    text: hook('{ annotations: { put: [] } }'),
    messages: ['"put" is not allowed'],
  },
  'an unknown operation on metadata': {
    text: hook('{ metadata: { unset: [] } }'),
    messages: ['"unset" is not allowed'],
  },
  'annotations that are not a list': { text: hook('{ annotations: { set: {} } }'), messages: ['"set" must be an array'] },
  'metadata of an image that is not a list': {
    text: hook('{ metadata: { set: [{ a: b }] } }'),
    messages: ['"a" must be an array. Current value: b'],
  },
  'an invalid annotation name': {
    text: hook('{ annotations: { set: [{ annotations: [{ a-b: 1 }] }] } }'),
    messages: ['"a-b" can only contain letters, digits and "_"'],
  },
  'an invalid name of an annotation to remove': {
    text: hook('{ annotations: { unset: [{ annotations: [an invalid name] }] } }'),
    messages: ['"an invalid name" can only contain letters, digits and "_"'],
  },
  'evaluate without an expression': {
    text: hook('{ annotations: { set: [{ annotations: [{ a: { evaluat: x } }] }] } }'),
    messages: ['"a" must be a string, a number, a boolean, or an object with only "evaluate"'],
  },
  'display in unset': {
    text: hook('{ annotations: { unset: [{ annotations: [a], display: a }] } }'),
    messages: ['"display" is not allowed'],
  },
  'debug inside a hook': {
    text: hook('{ image: x, debug: { phases: { before: true } } }'),
    messages: ['"debug" is not allowed inside a hook'],
  },
  'hooks inside a hook': {
    text: hook('{ image: x, hooks: { on_fail: [a] } }'),
    messages: ['"hooks" is not allowed inside a hook'],
  },
  'a stage inside a hook': {
    text: `stages: [s]\n${hook('{ steps: { a: { image: x, stage: s } } }')}`,
    messages: ['"stage" is not allowed inside a hook'],
  },
  'on_fail inside a hook': {
    text: hook('{ image: x, on_fail: {} }'),
    messages: ['"on_fail" is not allowed inside a hook'],
  },
  'an approval inside a hook': {
    text: hook('{ type: pending-approval }'),
    messages: ['"type" can\'t be pending-approval inside a hook'],
  },
  'hooks next to on_success': {
    text: steps('one: { image: x, hooks: { on_fail: [a] }, on_fail: { metadata: { set: [] } }, on_finish: {} }'),
    messages: [
      'Either old "on_success/on_fail/on_finish" or new "hooks" should be used',
      'Either old "on_success/on_fail/on_finish" or new "hooks" should be used',
    ],
  },
  'a parallel step without steps': { text: steps('p: { type: parallel }'), messages: ['"steps" is required'] },
  'a parallel step with no steps': {
    text: steps('p: { type: parallel, steps: {} }'),
    messages: ['"steps" must contain at least 1 entries'],
  },
  'a parallel step with an empty list of steps': {
    text: steps('p: { type: parallel, steps: [] }'),
    messages: ['"steps" must contain at least 1 entries'],
  },
  'a parallel step with a list of texts': {
    text: steps('p: { type: parallel, steps: [a, b] }'),
    messages: ['"steps" must be an object'],
  },
  'an approval inside a parallel step': {
    text: steps('p: { type: parallel, steps: { a: { type: pending-approval } } }'),
    messages: ['"type" can\'t be pending-approval inside a parallel step'],
  },
  'a duplicate name at different depths': {
    text: steps(
      'a: { image: x }',
      'p: { type: parallel, steps: { a: { image: x }, q: { type: parallel, steps: { p: { image: x } } } } }',
    ),
    messages: ['step name exist more than once. Current value: a', 'step name exist more than once. Current value: p'],
  },
  'a long name inside a parallel step': {
    text: steps(`p: { type: parallel, steps: { ${'n'.repeat(151)}: { image: x } } }`),
    messages: ['step name length is limited to 150'],
  },
  'a child without its image': {
    text: steps('p: { type: parallel, steps: { a: { commands: [x] } } }'),
    messages: ['"image" is required'],
  },
  'a grandchild without its image': {
    text: steps('p: { type: parallel, steps: { q: { type: parallel, steps: { a: { type: build } } } } }'),
    messages: ['"image_name" is required'],
  },
  'an unknown field of an approval': {
    text: steps('ok: { type: pending-approval, git: x }'),
    messages: ['"git" is not allowed'],
  },
  'an unknown field of an approval timeout': {
    text: steps('ok: { type: pending-approval, timeout: { duratin: 1 } }'),
    messages: ['"duratin" is not allowed. Did you mean "duration"?'],
  },
  'an unknown field of an approval timeout without suggestion': {
    text: steps('ok: { type: pending-approval, timeout: { tit: 1 } }'),
    messages: ['"tit" is not allowed'],
  },
  'an approval with a timeout of zero': {
    text: steps('ok: { type: pending-approval, timeout: { duration: 0, timeUnit: days } }'),
    messages: [
      '"duration" must be a positive number. Current value: 0',
      '"timeUnit" must be one of [hours, minutes]. Current value: days',
    ],
  },
  'scale and matrix together': {
    text: steps('a: { image: x, scale: { b: {} }, matrix: { image: [y] } }'),
    messages: ['"matrix" conflict with forbidden peer "scale"'],
  },
  'an empty scale': { text: steps('a: { image: x, scale: {} }'), messages: ['"scale" must contain at least 1 entries'] },
  'an empty matrix': { text: steps('a: { image: x, matrix: {} }'), messages: ['"matrix" must contain at least 1 entries'] },
  'a matrix with an empty list': {
    text: steps('a: { matrix: { image: [] } }'),
    messages: ['"image" must contain at least 1 items'],
  },
  'a matrix with a value that is not a list': {
    text: steps('a: { matrix: { image: x } }'),
    messages: ['"image" must be an array'],
  },
  'a scale on a parallel step': {
    text: steps('a: { type: parallel, steps: { b: { image: x } }, scale: { c: {} } }'),
    messages: ['"scale" is not allowed on parallel steps'],
  },
  'root services that are not an object': { text: root('services: [a]'), messages: ['"services" must be an object'] },
  'services without a composition': { text: root('services: { name: a }'), messages: ['"composition" is required'] },
  'an invalid readiness check': {
    text: root(
      'services: { composition: { a: { image: x } }, readiness: { image: y, commands: [], periodSeconds: 0, successThreshold: 2 } }',
    ),
    messages: [
      '"commands" must contain at least 1 items',
      '"periodSeconds" must be at least 1. Current value: 0',
      '"successThreshold" must be at most 1. Current value: 2',
    ],
  },
  'an environment record without a name': {
    text: steps('a: { image: x, env: { type: vm } }'),
    messages: ['"name" is required', '"type" must be one of [kubernetes, helm-release]. Current value: vm'],
  },
  'override on a step without commands': {
    text: steps('a: { type: build, image_name: x, debug: { phases: { override: true } } }'),
    messages: ['"override" is only allowed on freestyle steps'],
  },
  'criteria for missing steps': {
    text: root('success_criteria: { steps: { only: [ones], ignore: [] } }'),
    messages: [
      'step "ones" does not exist here, so the criteria are never met. Did you mean "one"?',
      '"ignore" must contain at least 1 items',
    ],
  },
  'criteria with an invalid expression': {
    text: root('success_criteria: { condition: { all: { a: "steps.three.result ==" } } }'),
    messages: ['invalid expression: unexpected end of expression'],
  },
}

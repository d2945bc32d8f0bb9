/** The manifest of the built-in step type `codefresh-run`, which starts a build of another pipeline, shows its log and waits for it. */
import { VERSION } from '@windlass/plan'

/** Has the arguments of the Codefresh step. Values are passed to the command through variables and never become part of its text. */
export const CODEFRESH_RUN = String.raw`version: '1.0'
kind: step-type
metadata:
  name: codefresh-run
  version: 2.0.0
  isPublic: true
  official: true
  description: Runs another pipeline, shows its log and waits for its end.
spec:
  arguments:
    type: object
    additionalProperties: false
    required: [PIPELINE_ID]
    properties:
      PIPELINE_ID: {type: string, description: Name or id of the pipeline.}
      TRIGGER_ID: {type: string, default: ''}
      BRANCH: {type: string, default: ''}
      SHA: {type: string, default: ''}
      NO_CACHE: {type: boolean, default: false}
      NO_CF_CACHE: {type: boolean, default: false}
      ENABLE_NOTIFICATIONS: {type: boolean, default: false}
      RESET_VOLUME: {type: boolean, default: false}
      RUNTIME_NAME: {type: string, default: ''}
      PACK_NAME: {type: string, default: ''}
      DETACH: {type: boolean, default: false, description: Do not wait for the build.}
      FOLLOW_LOGS: {type: boolean, default: true}
      CONTEXT: {type: array, items: {type: string}, default: []}
      VARIABLE: {type: array, items: {type: string}, default: []}
      SECRETS: {type: array, items: {type: string}, default: []}
      VARIABLE_FILE: {type: string, default: ''}
      TIMEOUT_MINS: {type: [string, number], default: '45'}
      TERMINATE_ON_TIMEOUT: {type: boolean, default: false}
      ONLY: {type: array, items: {type: string}, default: []}
      SKIP: {type: array, items: {type: string}, default: []}
      YAML: {type: string, default: ''}
      IMAGE_TAG: {type: string, default: ${VERSION}}
  delimiters: {left: '[[', right: ']]'}
  stepsTemplate: |-
    [[- define "list" ]]
    [[- range $i, $value := .values ]]
        - [[ printf "CHILD_%s_%d=%s" $.name $i $value | toJSON ]]
    [[- end ]]
    [[- end ]]
    [[- define "words" ]]
    [[- range $i, $value := .values ]]
        - set -- "$@" [[ $.option ]] "$CHILD_[[ $.name ]]_[[ $i ]]"
    [[- end ]]
    [[- end ]]
    [[- $a := .Arguments ]]
    start:
      title: Start the build
      image: windlass/windlass:[[ $a.IMAGE_TAG ]]
      environment:
        - [[ printf "CHILD_PIPELINE=%s" $a.PIPELINE_ID | toJSON ]]
        - [[ printf "CHILD_TRIGGER=%s" $a.TRIGGER_ID | toJSON ]]
        - [[ printf "CHILD_BRANCH=%s" $a.BRANCH | toJSON ]]
        - [[ printf "CHILD_SHA=%s" $a.SHA | toJSON ]]
        - [[ printf "CHILD_RUNTIME=%s" $a.RUNTIME_NAME | toJSON ]]
        - [[ printf "CHILD_FILE=%s" $a.VARIABLE_FILE | toJSON ]]
        - [[ printf "CHILD_YAML=%s" $a.YAML | toJSON ]]
        - [[ printf "CHILD_FLAGS=%v %v %v %v" $a.NO_CACHE $a.NO_CF_CACHE $a.RESET_VOLUME $a.ENABLE_NOTIFICATIONS | toJSON ]]
    [[- template "list" (dict "name" "VARIABLE" "values" $a.VARIABLE) ]]
    [[- template "list" (dict "name" "SECRET" "values" $a.SECRETS) ]]
    [[- template "list" (dict "name" "CONTEXT" "values" $a.CONTEXT) ]]
    [[- template "list" (dict "name" "ONLY" "values" $a.ONLY) ]]
    [[- template "list" (dict "name" "SKIP" "values" $a.SKIP) ]]
      commands:
        - flag() { case " 1 true yes on " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
        - read -r no_cache no_cf_cache reset notify <<END
        - $CHILD_FLAGS
        - END
        - set -- run "$CHILD_PIPELINE" --detach
        - if [ -n "$CHILD_TRIGGER" ]; then set -- "$@" --trigger "$CHILD_TRIGGER"; fi
        - if [ -n "$CHILD_BRANCH" ]; then set -- "$@" --branch "$CHILD_BRANCH"; fi
        - if [ -n "$CHILD_SHA" ]; then set -- "$@" --sha "$CHILD_SHA"; fi
        - if [ -n "$CHILD_RUNTIME" ]; then set -- "$@" --runtime "$CHILD_RUNTIME"; fi
        - if [ -n "$CHILD_FILE" ]; then set -- "$@" --var-file "$CHILD_FILE"; fi
        - if [ -n "$CHILD_YAML" ]; then set -- "$@" --yaml "$CHILD_YAML"; fi
        - if flag "$no_cache"; then set -- "$@" --no-cache; fi
        - if flag "$no_cf_cache"; then set -- "$@" --no-cf-cache; fi
        - if flag "$reset"; then set -- "$@" --reset-volume; fi
        - if flag "$notify"; then set -- "$@" --enable-notifications; fi
    [[- template "words" (dict "name" "VARIABLE" "option" "-v" "values" $a.VARIABLE) ]]
    [[- template "words" (dict "name" "SECRET" "option" "-S" "values" $a.SECRETS) ]]
    [[- template "words" (dict "name" "CONTEXT" "option" "-c" "values" $a.CONTEXT) ]]
    [[- template "words" (dict "name" "ONLY" "option" "--only" "values" $a.ONLY) ]]
    [[- template "words" (dict "name" "SKIP" "option" "--skip" "values" $a.SKIP) ]]
        - BUILD_ID=$(windlass "$@" | tail -n 1)
        - test -n "$BUILD_ID"
        - echo "Build $BUILD_ID of $CHILD_PIPELINE has been started."
        - cf_export BUILD_ID="$BUILD_ID" start_CF_OUTPUT_URL="$CF_URL/v1/builds/$BUILD_ID"
    [[- if not $a.DETACH ]]
    wait:
      title: Wait for the build
      image: windlass/windlass:[[ $a.IMAGE_TAG ]]
      environment:
        - 'BUILD_ID=${'${{'}steps.start.output.BUILD_ID}}'
        - [[ printf "CHILD_TIMEOUT=%v" $a.TIMEOUT_MINS | toJSON ]]
        - [[ printf "CHILD_TERMINATE=%v" $a.TERMINATE_ON_TIMEOUT | toJSON ]]
      commands:
        - seconds=$(node -p 'Math.max(1, Math.round(Number(process.argv[1]) * 60))' "$CHILD_TIMEOUT")
    [[- if $a.FOLLOW_LOGS ]]
        - windlass logs -f "$BUILD_ID" & log=$!
    [[- end ]]
        - code=0
        - windlass wait "$BUILD_ID" --timeout "$seconds" || code=$?
        - if [ "$code" != 0 ] && [ "$CHILD_TERMINATE" = true ]; then windlass terminate "$BUILD_ID" 2>/dev/null || true; fi
    [[- if $a.FOLLOW_LOGS ]]
        - if [ "$code" = 0 ]; then wait "$log" || true; else kill "$log" 2>/dev/null || true; fi
    [[- end ]]
        - exit "$code"
    [[- end ]]
`

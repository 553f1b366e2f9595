#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/ci/: the workflows are YAML, their scripts are shell, the program has each option that they use, and
# the hook and the shards' plan do what they say.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

ci=$top/docs/ci

# Every script of a workflow, one file each.
cat >scripts.py <<'EOF'
import sys, yaml
def scripts(node, key=None):
    if isinstance(node, dict):
        for k, v in node.items():
            yield from scripts(v, k)
    elif isinstance(node, list):
        if key in ("script", "before_script", "args"):
            yield "\n".join(node)
        else:
            for v in node:
                yield from scripts(v, key)
    elif key == "run" and isinstance(node, str):
        yield node
for number, script in enumerate(scripts(yaml.safe_load(open(sys.argv[1])))):
    with open(f"script-{sys.argv[1].rsplit('/', 1)[1]}-{number}", "w") as file:
        # What the service puts in before a shell sees it.
        file.write(script.replace("${{", "$(: ").replace("}}", ")") + "\n")
EOF
if python3 -c 'import yaml' 2>/dev/null; then
	for file in github.yml gitlab.yml kubernetes.yaml; do
		runs "$file is YAML" python3 scripts.py "$ci/$file"
	done
	check "there are scripts of each" ls script-github.yml-0 script-gitlab.yml-0 script-kubernetes.yaml-0
	for script in script-*; do
		bash -n "$script" 2>>syntax || echo "$script" >>syntax
	done
	check "all of them are shell" test ! -s syntax
else
	skip "the workflows are YAML" "no python3-yaml"
fi

# COMMAND OPTION of each use of the program: "build/quirklab run --shard ..."; folded lines are joined.
cat "$ci"/*.yml "$ci"/*.yaml "$ci/pre-push" "$ci/slurm/quirklab.sbatch" | sed 's/ #.*//' |
	sed ':again; N; $!b again; s/\n *--/ --/g' | grep -oE '(quirklab"?|QUIRKLAB:-quirklab\}"?) [a-z-]+ [^;&|>]*' >uses
while read -r _ command rest; do
	case $command in list | run | report | diff | lint) ;; *) continue ;; esac
	for word in $rest; do
		case $word in --[a-z]*) echo "$command ${word%%[=\"]*}" ;; esac
	done
done <uses | sort -u >options
check "they use the program's options" [ "$(wc -l <options)" -ge 7 ]
while read -r command option; do
	quirklab "$command" --help | grep -qE -- "(^|[ ,])$option([ ,]|$)" || echo "$command $option"
done <options >unknown
check "the program has each of them" lines 0 unknown

runs "the plan of the GitHub workflow" sh -c \
	"'$program' list cpus --json | jq -c '[range(1; (length / 100 | ceil) + 1)]'"
check "is shards from 1 on" grep -qxE '\[1(,[0-9]+)*\]' out

# The hook: what it asks of the program for a branch that moved, one that is new, one that goes.
mkdir repository build
git -C repository init -q -b main
git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
mkdir repository/build
cat >repository/build/quirklab <<'EOF'
#!/bin/sh
echo "$@" >>asked
[ "$1" != diff ] || [ ! -e changed ]
EOF
chmod +x repository/build/quirklab
one=$(git -C repository rev-parse HEAD~1) two=$(git -C repository rev-parse HEAD)
zero=0000000000000000000000000000000000000000
push() { (cd repository && printf '%s\n' "refs/heads/main $1 refs/heads/main $2" | "$ci/pre-push" origin here); }
runs "a push of one commit" push "$two" "$one"
check "asks what changed, and lints" diff repository/asked <(printf 'diff %s %s\nlint\n' "$one" "$two")
rm repository/asked
runs "a deleted branch" push $zero "$one"
check "is not compared" diff repository/asked <(echo lint)
rm repository/asked
runs "a branch that nobody has yet" push "$two" $zero
check "is not either: there is nothing to compare it with" diff repository/asked <(echo lint)
touch repository/changed
status=0
push "$two" "$one" >out 2>err || status=$?
check "a change that nobody agreed on stops the push" [ $status = 1 ]
finish
